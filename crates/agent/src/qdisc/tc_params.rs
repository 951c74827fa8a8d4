//! The disciplines of the kernel under the simulator's names, and their parameters in `tc`.
//!
//! A parameter is passed to tc even if it has the simulator's default. Both engines therefore use
//! the same values, regardless of the kernel's defaults. If the kernel lacks a parameter, only the
//! parameter's default, which describes the kernel's behaviour, is accepted. Sources: iproute2 6.1
//! `tc/q_*.c`; Linux 6.1 `net/sched/sch_*.c`.

mod cake;
mod kinds;
mod shown;

use aqmlab_core::{Args, Bytes, Param, Value};
use aqmlab_trial::spec::LinkSpec;
use serde_json::Value as Json;

use self::kinds::How::{Composed, DeviceQueue, Fixed, Is, OrComputed, Switch, Unread};
use self::kinds::find;
pub(crate) use self::shown::compare;

/// The arguments of a link's discipline, including defaults.
struct Chosen {
    params: &'static [Param],
    args: Args,
}

impl Chosen {
    fn of(at: &str, link: &LinkSpec) -> Result<Self, String> {
        let at = format!("{at}.qdisc");
        let kind = link.qdisc.kind.0;
        let args = aqmlab_trial::arguments::arguments(&at, kind.params, &link.qdisc.params)
            .map_err(|error| error.to_string())?;
        Ok(Self { params: kind.params, args })
    }
}

/// A discipline in tc's form, and the JSON that tc should show after the installation.
pub(crate) struct Wanted {
    /// The kernel's name for the discipline.
    pub(crate) kind: &'static str,
    /// The options in tc's command line.
    pub(crate) options: String,
    /// The values that tc's JSON should contain.
    pub(crate) reads: Vec<(&'static str, Json)>,
    /// The required queue length of the device, if the discipline requires one.
    pub(crate) device_queue: Option<u64>,
}

/// Returns the discipline of the link at `at`, in tc's form.
///
/// # Errors
///
/// If the kernel has no such discipline, or if a parameter is invalid or cannot be set by tc.
pub(crate) fn wanted(at: &str, link: &LinkSpec) -> Result<Wanted, String> {
    let known = find(at, link.qdisc.kind.0.name)?;
    let chosen = Chosen::of(at, link)?;
    let mut words = Vec::new();
    let mut wanted =
        Wanted { kind: known.kernel, options: String::new(), reads: vec![], device_queue: None };
    for (name, how) in known.params {
        let at = format!("{at}.qdisc.{name}");
        let param = chosen.params.iter().find(|param| param.name == *name);
        let param = param.ok_or_else(|| format!("{at}: the discipline has no such parameter"))?;
        let value = chosen.args.value(name);
        match how {
            OrComputed(_) | Unread(_) if is_zero(value) => {}
            Is(tc) | OrComputed(tc) => {
                put(&at, tc, value, &mut words, Some(&mut wanted.reads))?;
            }
            Unread(tc) => put(&at, tc, value, &mut words, None)?,
            Switch(on, off, json) => {
                let set = value == Value::Flag(true);
                words.push((if set { *on } else { *off }).to_owned());
                wanted.reads.push((json, set.into()));
            }
            DeviceQueue => wanted.device_queue = Some(chosen.args.count(name)),
            Fixed if value != param.default => {
                return Err(format!(
                    "{at}: {value}: the kernel has no such setting; allowed is {}",
                    param.default
                ));
            }
            Fixed | Composed => {}
        }
    }
    words.push(match known.besides {
        // tc uses the rate to compute how the average queue length decays while the queue is idle.
        "bandwidth" => format!("bandwidth {}bit", link.rate_bps()),
        besides => besides.to_owned(),
    });
    words.retain(|word| !word.is_empty());
    if known.kernel == "cake" {
        let counted = link.overhead.counted;
        cake::compose(at, &chosen.args, counted, &mut words, &mut wanted.reads)?;
    }
    wanted.options = words.join(" ");
    if known.kernel == "sfq" {
        bound_sfq(&mut wanted, &chosen.args);
    }
    Ok(wanted)
}

/// Applies the bounds of `sfq_change` to the sizes that are read back.
fn bound_sfq(wanted: &mut Wanted, args: &Args) {
    let divisor = args.count("divisor");
    let flows = args.count("flows").min(divisor);
    let depth = args.count("depth").min(127);
    let limit = args.count("limit").min(depth * flows);
    for (name, value) in [("depth", depth), ("limit", limit), ("flows", flows.min(limit))] {
        for (read, json) in &mut wanted.reads {
            if *read == name {
                *json = value.into();
            }
        }
    }
}

/// Returns whether the value is zero, which asks tc to compute the value or to leave it unset.
fn is_zero(value: Value) -> bool {
    matches!(value, Value::Count(0) | Value::Bytes(Bytes(0)) | Value::Word("0x00/0x00", _))
}

/// Adds a parameter to tc's command line, and to the values to read back if `reads` is given. A
/// duration that is switched off adds nothing.
fn put(
    at: &str,
    tc: &'static str,
    value: Value,
    words: &mut Vec<String>,
    reads: Option<&mut Vec<(&'static str, Json)>>,
) -> Result<(), String> {
    let (text, json) = match value {
        Value::MaybeDuration(None) => return Ok(()),
        // tc accepts only whole seconds for this parameter.
        Value::MaybeDuration(Some(span)) if tc == "perturb" => {
            let seconds = span.as_nanos() / 1_000_000_000;
            if seconds == 0 || span.as_nanos() % 1_000_000_000 > 0 {
                return Err(format!("{at}: {value}: the kernel counts whole seconds"));
            }
            (seconds.to_string(), Json::from(seconds))
        }
        Value::Duration(span) | Value::MaybeDuration(Some(span)) => {
            if span.as_nanos() % 1_000 > 0 {
                return Err(format!("{at}: {value}: the kernel counts whole microseconds"));
            }
            (format!("{}us", span.as_micros()), Json::from(span.as_micros()))
        }
        Value::Count(count) => (count.to_string(), Json::from(count)),
        Value::Bytes(size) => (size.0.to_string(), Json::from(size.0)),
        Value::Number(number) => (number.to_string(), Json::from(number)),
        Value::Word(word, _) => (word.to_owned(), Json::from(word)),
        Value::Rate(_) | Value::MaybeRate(_) | Value::Flag(_) => {
            return Err(format!("{at}: {value}: the kernel has no such parameter"));
        }
    };
    words.push(format!("{tc} {text}"));
    if let Some(reads) = reads {
        reads.push((tc, json));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::kinds::KINDS;
    use super::*;
    use serde_json::json;

    fn link(qdisc: &Json) -> LinkSpec {
        let whole = json!({"name": "up", "rate_bps": 1_000_000, "qdisc": qdisc});
        serde_json::from_value(whole).expect("it is a link")
    }

    pub(super) fn given(qdisc: &Json) -> Wanted {
        wanted("links[0]", &link(qdisc)).expect("the kernel has it")
    }

    fn refused(qdisc: &Json) -> String {
        wanted("links[0]", &link(qdisc)).err().expect("the kernel does not have it")
    }

    #[test]
    fn defaults_are_given_too_so_that_both_engines_have_the_same() {
        let params = json!({"target": 7_000_000, "ecn": false});
        let fq = given(&json!({"kind": "fq_codel", "params": params}));
        for text in ["limit 10240", "target 7000us", "interval 100000us", "noecn"] {
            assert!(fq.options.contains(text), "{text} is not in {}", fq.options);
        }
    }

    #[test]
    fn a_selector_is_passed_if_it_selects() {
        let tc = |params| given(&json!({"kind": "fq_codel", "params": params})).options;
        let selected = tc(json!({"ce_threshold": 1_000_000, "ce_threshold_selector": "0x01/0x03"}));
        assert!(selected.contains("ce_threshold 1000us ce_threshold_selector 0x01/0x03"));
        assert!(!tc(json!({})).contains("selector"));
    }

    #[test]
    fn each_discipline_that_the_kernel_has_is_one_of_ours_with_all_its_parameters() {
        for known in KINDS {
            let kind = aqmlab_qdisc::kinds::find(known.ours).expect("the discipline is registered");
            for param in kind.params {
                let told = known.params.iter().any(|(name, _)| *name == param.name);
                assert!(told, "{}.{}: no mapping to the kernel", known.ours, param.name);
            }
            given(&json!({"kind": known.ours}));
        }
    }

    #[test]
    fn each_of_our_disciplines_is_either_there_or_refused_by_name() {
        let mut refusals = 0;
        for kind in aqmlab_qdisc::kinds::all() {
            if KINDS.iter().all(|known| known.ours != kind.name) {
                let said = refused(&json!({"kind": kind.name}));
                assert!(said.contains(&format!("`{}`", kind.name)), "{said}");
                assert!(said.contains("the nearest is `"), "{said}");
                refusals += 1;
            }
        }
        assert!(refusals > 5);
    }

    #[test]
    fn parameters_that_the_kernel_cannot_be_told_are_refused_by_name() {
        for (qdisc, at) in [
            (json!({"kind": "codel", "params": {"mtu": 300}}), "links[0].qdisc.mtu"),
            (json!({"kind": "fq_codel", "params": {"salt": 3}}), "links[0].qdisc.salt"),
            (json!({"kind": "pie", "params": {"tick": 0}}), "links[0].qdisc.tick"),
            (json!({"kind": "codel", "params": {"target": 1_500}}), "links[0].qdisc.target"),
            (json!({"kind": "sfq", "params": {"perturb": 500}}), "links[0].qdisc.perturb"),
            (json!({"kind": "pfifo", "params": {"slots": 5}}), "links[0].qdisc.slots"),
        ] {
            let said = refused(&qdisc);
            assert!(said.starts_with(at), "{said}");
        }
        given(&json!({"kind": "codel", "params": {"mtu": 1_514}}));
    }

    #[test]
    fn tc_is_left_to_compute_what_red_is_not_told() {
        let red = given(&json!({"kind": "red", "params": {"adaptive": true}}));
        assert_eq!(
            red.options,
            "limit 400000 avpkt 1000 probability 0.02 adaptive bandwidth 1000000bit"
        );
        let told = given(&json!({"kind": "red", "params": {"min": 30_000, "burst": 40}}));
        assert!(told.options.contains("min 30000 avpkt 1000 burst 40"), "{}", told.options);
    }
}
