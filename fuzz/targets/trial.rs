//! Fuzzes the reader of trials, which must build or refuse a trial from any text.
//!
//! No trial runs; the fuzzer limits the time and memory of a check.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = aqmlab_trial::parse(text).and_then(|spec| aqmlab_trial::check(&spec)) {
        assert!(!error.problem.is_empty());
    }
});
