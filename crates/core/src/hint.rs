//! A hint to the compiler.

/// Marks the branch that calls it as rare: most packets of most trials do not take it.
///
/// The compiler then places the code of the branch outside the usual path, which has fewer taken
/// jumps. A packet that takes the branch needs one more jump. `std::hint::cold_path` does the same,
/// but requires Rust 1.95.
///
/// An `else` that only calls this function states that its condition usually holds. A call after an
/// early `return` marks the rest of the function. A mark has an effect only at the first test of a
/// condition, so some tests are repeated in order to be marked.
#[cold]
#[inline(always)]
pub const fn rare() {}
