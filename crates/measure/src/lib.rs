//! Measurement.
