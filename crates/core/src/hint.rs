//! A hint to the compiler.

/// Marks the branch that calls it as rare.
///
/// The compiler then places the code of the branch outside the usual path, which has fewer taken
/// jumps. `std::hint::cold_path` does the same, but requires Rust 1.95.
#[cold]
#[inline(always)]
pub const fn rare() {}
