//! Mathematical functions that return the same bits on every machine.
//!
//! IEEE 754 determines every bit of the results of `+ − × ÷` and `sqrt`, but not of the other
//! functions, in which C libraries differ. All functions of this module come from the `libm` crate.

/// Returns e raised to the power of `x`.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// Returns the natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// Returns the logarithm to base two.
pub fn log2(x: f64) -> f64 {
    libm::log2(x)
}

/// Returns the logarithm to base ten.
pub fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// Returns `x` raised to the power of `y`.
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// Returns the square root.
pub fn sqrt(x: f64) -> f64 {
    libm::sqrt(x)
}

/// Returns the cube root.
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// Returns the cosine of an angle in radians.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}
