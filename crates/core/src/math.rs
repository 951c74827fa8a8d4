//! Functions that give the same bits on every machine.
//!
//! `+ − × ÷` and `sqrt` are exact by IEEE 754. The others come from the `libm` crate, because C
//! libraries differ.

/// The natural exponential.
pub fn exp(x: f64) -> f64 {
    libm::exp(x)
}

/// The natural logarithm.
pub fn ln(x: f64) -> f64 {
    libm::log(x)
}

/// The logarithm to base two.
pub fn log2(x: f64) -> f64 {
    libm::log2(x)
}

/// The logarithm to base ten.
pub fn log10(x: f64) -> f64 {
    libm::log10(x)
}

/// `x` to the power of `y`.
pub fn pow(x: f64, y: f64) -> f64 {
    libm::pow(x, y)
}

/// The square root.
pub fn sqrt(x: f64) -> f64 {
    libm::sqrt(x)
}

/// The cube root.
pub fn cbrt(x: f64) -> f64 {
    libm::cbrt(x)
}

/// The cosine of an angle in radians.
pub fn cos(x: f64) -> f64 {
    libm::cos(x)
}
