//! Tests that a trial with any of its values replaced is either refused or runs.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::{Value, json};

const GOLDEN: [&str; 3] = [
    include_str!("../../../../tests/golden/rrul.json"),
    include_str!("../../../../tests/golden/shaper.json"),
    include_str!("../../../../tests/golden/web-under-load.json"),
];
/// The duration of each trial. A short trial is sufficient to show whether the trial runs.
const MOMENT_NS: u64 = 20_000_000;

/// Appends the JSON pointers of all values of a trial to `found`.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.into());
    match value {
        Value::Object(members) => {
            for (key, part) in members {
                places(part, &format!("{at}/{key}"), found);
            }
        }
        Value::Array(parts) => {
            for (number, part) in parts.iter().enumerate() {
                places(part, &format!("{at}/{number}"), found);
            }
        }
        _ => {}
    }
}

fn values() -> impl Strategy<Value = Value> {
    prop_oneof![
        any::<u64>().prop_map(|number| json!(number)),
        (0_u32..64, any::<u8>()).prop_map(|(bits, less)| {
            json!((1_u64 << bits).saturating_sub(u64::from(less % 3)))
        }),
        any::<i32>().prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        (0.0..2.0).prop_map(|number: f64| json!(number)),
        any::<bool>().prop_map(|flag| json!(flag)),
        prop::sample::select(vec![
            "", "up", "cubic", "fq_codel", "bulk", "windows", "line", "\u{0}"
        ])
        .prop_map(|word| json!(word)),
        Just(json!(null)),
        Just(json!([])),
        Just(json!({})),
    ]
}

proptest! {
    #[test]
    fn a_spoiled_trial_is_refused_or_runs(
        golden in prop::sample::select(GOLDEN.to_vec()),
        changes in prop::collection::vec((any::<Index>(), values()), 1..4),
    ) {
        let mut spec: Value = serde_json::from_str(golden).unwrap();
        spec["duration_ns"] = json!(MOMENT_NS);
        for (index, value) in changes {
            let mut found = Vec::new();
            places(&spec, "", &mut found);
            let place: &String = &found[index.index(found.len())];
            *spec.pointer_mut(place).unwrap() = value;
        }
        let Ok(read) = aqmlab_trial::parse(&spec.to_string()) else { return Ok(()) };
        let checked = aqmlab_trial::check(&read);
        if checked.is_ok() && read.duration.as_nanos() <= MOMENT_NS {
            prop_assert!(aqmlab_sim::run(&read).is_ok(), "it passed the check");
        }
    }
}
