//! Tests that the reference runs have the same digests in this build, which has assertions and
//! overflow checks, as in the optimised module that Python loads.

use std::fs;
use std::path::Path;

use serde_json::Value;

#[test]
fn golden_trials_have_their_digests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/golden");
    let read = |path: &Path| fs::read_to_string(path).unwrap();
    let digests: Value = serde_json::from_str(&read(&folder.join("digests.json"))).unwrap();
    let digests = digests.as_object().unwrap();
    assert!(digests.len() >= 5, "there are golden trials");
    for (name, want) in digests {
        let spec = read(&folder.join(format!("{name}.json")));
        let outcome = aqmlab_sim::run(&aqmlab_trial::parse(&spec).unwrap()).unwrap();
        assert_eq!(outcome.digest.to_string(), want.as_str().unwrap(), "{name}");
    }
}
