//! A trial as JSON: any text is a trial that can be built, or is refused.
//!
//! Nothing runs; the fuzzer's bounds on time and memory are what a check may take.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Err(error) = aqmlab_trial::parse(text).and_then(|spec| aqmlab_trial::check(&spec)) {
        assert!(!error.problem.is_empty());
    }
});
