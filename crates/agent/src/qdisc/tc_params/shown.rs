//! Compares the discipline that tc shows with the requested discipline.

use serde_json::Value as Json;

use super::Wanted;

/// Compares the discipline that tc shows with the requested discipline.
///
/// # Errors
///
/// The error states the first difference.
pub(crate) fn compare(wanted: &Wanted, shown: &Json) -> Result<(), String> {
    let kind = wanted.kind;
    let found = shown["kind"].as_str().unwrap_or("nothing");
    if found != kind {
        return Err(format!("{kind} was asked for, but the kernel has {found}"));
    }
    for (name, want) in &wanted.reads {
        let got = &shown["options"][*name];
        // tc does not show a switch that is off.
        let off = got.is_null() && want.as_bool() == Some(false);
        if !off && got != want && !rounded(name, got, want) {
            let problem = format!("{name} {want} was asked for, but the kernel has {got}");
            return Err(format!("{kind}: {problem}: {shown}"));
        }
    }
    Ok(())
}

/// The tick in microseconds of kernels built with `CONFIG_HZ=250`. Of the common ticks, only the
/// tick of `CONFIG_HZ=100` is coarser. PIE's timer counts in ticks, and `tc` shows the rounded-up
/// value.
const TICK_US: f64 = 4_000.0;

/// Returns whether the kernel rounds the requested value to the value shown. CoDel's times are in
/// units of 1.024 µs, so tc sometimes shows one microsecond less. PIE's timer counts in ticks, and
/// a probability has 32 bits.
fn rounded(name: &str, got: &Json, want: &Json) -> bool {
    let (Some(got), Some(want)) = (got.as_f64(), want.as_f64()) else { return false };
    match name {
        "tupdate" => got >= want && got - want < TICK_US,
        "target" | "interval" | "ce_threshold" => (0.0..=1.0).contains(&(want - got)),
        "probability" => (got - want).abs() <= 1e-4 * want,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::given;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_discipline_that_was_rounded_is_the_same_and_another_is_not() {
        let codel = given(&json!({"kind": "codel"}));
        let shown = |target: u64, limit: u64| {
            json!({"kind": "codel", "options":
                {"limit": limit, "target": target, "interval": 99_999}})
        };
        assert_eq!(compare(&codel, &shown(4_999, 1_000)), Ok(()));
        for (wrong, said) in [
            (shown(4_990, 1_000), "target 5000"),
            (shown(4_999, 999), "limit 1000"),
            (json!({"kind": "pfifo"}), "the kernel has pfifo"),
            (Json::Null, "the kernel has nothing"),
        ] {
            let problem = compare(&codel, &wrong).expect_err("it is another");
            assert!(problem.contains(said), "{problem}");
        }
    }

    #[test]
    fn only_what_counts_in_ticks_may_be_rounded_to_them() {
        assert!(rounded("tupdate", &json!(16_000), &json!(15_000)));
        assert!(!rounded("tupdate", &json!(12_000), &json!(15_000)));
        assert!(!rounded("limit", &json!(999), &json!(1_000)));
        assert!(rounded("probability", &json!(0.019_999_9), &json!(0.02)));
    }
}
