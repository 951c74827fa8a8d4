//! Our names of the disciplines that the kernel has, and how `tc` is told of their parameters.
//!
//! Every parameter is given, defaults of the simulator included, so that both engines run with
//! the same ones whatever the kernel's defaults are. What the kernel has no word for is accepted
//! at the value that stands for the kernel's behaviour and refused at any other.
//!
//! Sources: iproute2 6.1 `tc/q_*.c`; Linux 6.1 `net/sched/sch_*.c`.

use aqmlab_core::{Args, Param, Value};
use aqmlab_sim::spec::LinkSpec;
use serde_json::Value as Json;

/// How a parameter of ours reaches the kernel.
enum How {
    /// As tc's parameter of that name, read back under the same.
    Is(&'static str),
    /// The same, but zero leaves it to tc, which computes what the simulator does.
    OrComputed(&'static str),
    /// tc's word, which cannot be read back.
    Unread(&'static str),
    /// As a switch: tc's words for on and off, and its name when read back.
    Switch(&'static str, &'static str, &'static str),
    /// As the length of the device's queue.
    DeviceQueue,
    /// No word for it: only our default stands for what the kernel does.
    Fixed,
}

use How::{DeviceQueue, Fixed, Is, OrComputed, Switch, Unread};

/// A discipline that the kernel has.
struct Known {
    /// Our name.
    ours: &'static str,
    /// The kernel's.
    kernel: &'static str,
    /// Our parameters, in the order in which tc takes them.
    params: &'static [(&'static str, How)],
    /// What tc is told besides.
    besides: &'static str,
}

const ECN: How = Switch("ecn", "noecn", "ecn");
const BYTEMODE: How = Switch("bytemode", "nobytemode", "bytemode");
const ESTIMATOR: How = Switch("dq_rate_estimator", "no_dq_rate_estimator", "dq_rate_estimator");

const KINDS: &[Known] = &[
    Known { ours: "pfifo", kernel: "pfifo", params: &[("limit", Is("limit"))], besides: "" },
    Known { ours: "bfifo", kernel: "bfifo", params: &[("limit", Is("limit"))], besides: "" },
    Known {
        ours: "pfifo_head_drop",
        kernel: "pfifo_head_drop",
        params: &[("limit", Is("limit"))],
        besides: "",
    },
    Known {
        ours: "pfifo_fast",
        kernel: "pfifo_fast",
        params: &[("limit", DeviceQueue)],
        besides: "",
    },
    Known {
        ours: "codel",
        kernel: "codel",
        params: &[
            ("limit", Is("limit")),
            ("target", Is("target")),
            ("interval", Is("interval")),
            ("ecn", ECN),
            ("ce_threshold", Is("ce_threshold")),
            ("mtu", Fixed),
        ],
        besides: "",
    },
    Known {
        ours: "fq_codel",
        kernel: "fq_codel",
        params: &[
            ("limit", Is("limit")),
            ("flows", Is("flows")),
            ("quantum", Is("quantum")),
            ("target", Is("target")),
            ("interval", Is("interval")),
            ("memory_limit", Is("memory_limit")),
            ("ecn", ECN),
            ("ce_threshold", Is("ce_threshold")),
            ("drop_batch", Is("drop_batch")),
            ("mtu", Fixed),
            ("salt", Fixed),
        ],
        besides: "",
    },
    // A target far beyond any delay switches CoDel off. Its clock has 32 bits of 1.024 µs, and
    // half of them are the future.
    Known {
        ours: "fq_nocodel",
        kernel: "fq_codel",
        params: &[
            ("limit", Is("limit")),
            ("flows", Is("flows")),
            ("quantum", Is("quantum")),
            ("memory_limit", Is("memory_limit")),
            ("drop_batch", Is("drop_batch")),
            ("salt", Fixed),
        ],
        besides: "noecn target 1000s interval 1000s",
    },
    Known {
        ours: "pie",
        kernel: "pie",
        params: &[
            ("limit", Is("limit")),
            ("target", Is("target")),
            ("tupdate", Is("tupdate")),
            ("alpha", Is("alpha")),
            ("beta", Is("beta")),
            ("ecn", ECN),
            ("bytemode", BYTEMODE),
            ("dq_rate_estimator", ESTIMATOR),
            ("mtu", Fixed),
            ("tick", Fixed),
        ],
        besides: "",
    },
    Known {
        ours: "fq_pie",
        kernel: "fq_pie",
        params: &[
            ("limit", Is("limit")),
            ("flows", Is("flows")),
            ("target", Is("target")),
            ("tupdate", Is("tupdate")),
            ("alpha", Is("alpha")),
            ("beta", Is("beta")),
            ("quantum", Is("quantum")),
            ("ecn_prob", Is("ecn_prob")),
            ("ecn", ECN),
            ("bytemode", BYTEMODE),
            ("dq_rate_estimator", ESTIMATOR),
            ("mtu", Fixed),
            ("tick", Fixed),
            ("salt", Fixed),
        ],
        besides: "",
    },
    Known {
        ours: "sfq",
        kernel: "sfq",
        params: &[
            ("limit", Is("limit")),
            ("depth", Is("depth")),
            ("flows", Is("flows")),
            ("divisor", Is("divisor")),
            ("quantum", Is("quantum")),
            ("perturb", Is("perturb")),
            ("headdrop", Switch("headdrop", "", "headdrop")),
            ("salt", Fixed),
        ],
        besides: "",
    },
    Known {
        ours: "red",
        kernel: "red",
        params: &[
            ("limit", Is("limit")),
            ("min", OrComputed("min")),
            ("max", OrComputed("max")),
            ("avpkt", Unread("avpkt")),
            ("burst", Unread("burst")),
            ("probability", Is("probability")),
            ("ecn", Switch("ecn", "", "ecn")),
            ("harddrop", Switch("harddrop", "", "harddrop")),
            ("nodrop", Switch("nodrop", "", "nodrop")),
            ("adaptive", Switch("adaptive", "", "adaptive")),
            ("idle_from", Fixed),
            ("tick", Fixed),
        ],
        besides: "bandwidth",
    },
];

/// Of which of the kernel's disciplines ours of that name is another variety.
fn relative(kind: &str) -> Option<&'static str> {
    let likely = match kind {
        "ared" | "red_floyd" => "red",
        "pie_linux_3_14" | "pie_rfc8033" | "pie_freebsd" => "pie",
        "fq_codel_linux_3_5" => "fq_codel",
        other => other.strip_suffix("_freebsd").or_else(|| other.strip_suffix("_rfc"))?,
    };
    KINDS.iter().map(|known| known.ours).find(|name| *name == likely)
}

fn find(at: &str, kind: &str) -> Result<&'static Known, String> {
    KINDS.iter().find(|known| known.ours == kind).ok_or_else(|| match relative(kind) {
        Some("red") => format!(
            "{at}.qdisc: `{kind}`: the kernel does not have it; what it has is `red`, \
             with `adaptive` if wanted"
        ),
        Some(near) => {
            format!("{at}.qdisc: `{kind}`: the kernel does not have it; what it has is `{near}`")
        }
        None => {
            let all: Vec<_> = KINDS.iter().map(|known| known.ours).collect();
            format!("{at}.qdisc: `{kind}`: the kernel engine has {}", all.join(", "))
        }
    })
}

/// The arguments of a link's discipline, defaults included.
struct Chosen {
    params: &'static [Param],
    args: Args,
}

impl Chosen {
    fn of(at: &str, link: &LinkSpec) -> Result<Self, String> {
        let at = format!("{at}.qdisc");
        let kind = aqmlab_qdisc::kinds::find(&link.qdisc.kind)
            .ok_or_else(|| format!("{at}: there is no discipline called `{}`", link.qdisc.kind))?;
        let args = aqmlab_sim::arguments::arguments(&at, kind.params, &link.qdisc.params)
            .map_err(|error| error.to_string())?;
        Ok(Self { params: kind.params, args })
    }

    fn value(&self, param: &Param) -> Value {
        let (args, name) = (&self.args, param.name);
        match param.default {
            Value::Duration(_) => Value::Duration(args.duration(name)),
            Value::MaybeDuration(_) => Value::MaybeDuration(args.maybe_duration(name)),
            Value::Count(_) => Value::Count(args.count(name)),
            Value::Bytes(_) => Value::Bytes(args.bytes(name)),
            Value::Rate(_) => Value::Rate(args.rate(name)),
            Value::Number(_) => Value::Number(args.number(name)),
            Value::Flag(_) => Value::Flag(args.flag(name)),
            Value::Word(_, all) => Value::Word(args.word(name), all),
        }
    }
}

/// A discipline as tc takes it, and what tc should then say of it.
pub(crate) struct Wanted {
    /// The kernel's name for it.
    pub(crate) kind: &'static str,
    /// The rest of tc's line.
    pub(crate) options: String,
    /// What its JSON should hold.
    pub(crate) reads: Vec<(&'static str, Json)>,
    /// How long the device's own queue has to be.
    pub(crate) device_queue: Option<u64>,
}

/// What to ask the kernel for so that a link of the trial, at `at`, has its discipline.
///
/// # Errors
///
/// If the kernel has no such discipline, or cannot be told of a parameter.
pub(crate) fn wanted(at: &str, link: &LinkSpec) -> Result<Wanted, String> {
    let known = find(at, &link.qdisc.kind)?;
    let chosen = Chosen::of(at, link)?;
    let mut words = Vec::new();
    let mut wanted =
        Wanted { kind: known.kernel, options: String::new(), reads: vec![], device_queue: None };
    for (name, how) in known.params {
        let at = format!("{at}.qdisc.{name}");
        let param = chosen.params.iter().find(|param| param.name == *name);
        let param = param.ok_or_else(|| format!("{at}: the discipline has no such parameter"))?;
        let value = chosen.value(param);
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
                    "{at}: {value}: the kernel cannot be told; for what it does stands {}",
                    param.default
                ));
            }
            Fixed => {}
        }
    }
    words.push(match known.besides {
        // tc computes from it how the average decays while nothing waits.
        "bandwidth" => format!("bandwidth {}bit", link.rate_bps),
        besides => besides.to_owned(),
    });
    words.retain(|word| !word.is_empty());
    wanted.options = words.join(" ");
    if known.kernel == "sfq" {
        bound_sfq(&mut wanted, &chosen.args);
    }
    Ok(wanted)
}

/// What `sfq_change` makes of the sizes that it is given.
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

fn is_zero(value: Value) -> bool {
    matches!(value, Value::Count(0)) || matches!(value, Value::Bytes(size) if size.0 == 0)
}

/// Adds a parameter to tc's line, and to what is read back.
fn put(
    at: &str,
    tc: &'static str,
    value: Value,
    words: &mut Vec<String>,
    reads: Option<&mut Vec<(&'static str, Json)>>,
) -> Result<(), String> {
    let (text, json) = match value {
        Value::MaybeDuration(None) => return Ok(()),
        // tc takes whole seconds here.
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
        Value::Rate(_) | Value::Flag(_) | Value::Word(..) => {
            return Err(format!("{at}: {value}: the kernel has no such parameter"));
        }
    };
    words.push(format!("{tc} {text}"));
    if let Some(reads) = reads {
        reads.push((tc, json));
    }
    Ok(())
}

/// Compares what tc shows of a discipline with what was wanted.
///
/// # Errors
///
/// The first thing that differs.
pub(crate) fn compare(wanted: &Wanted, shown: &Json) -> Result<(), String> {
    let kind = wanted.kind;
    let found = shown["kind"].as_str().unwrap_or("nothing");
    if found != kind {
        return Err(format!("{kind} was asked for, but the kernel has {found}"));
    }
    for (name, want) in &wanted.reads {
        let got = &shown["options"][*name];
        // A switch that is off is not shown.
        let off = got.is_null() && want.as_bool() == Some(false);
        if !off && got != want && !rounded(name, got, want) {
            let problem = format!("{name} {want} was asked for, but the kernel has {got}");
            return Err(format!("{kind}: {problem}: {shown}"));
        }
    }
    Ok(())
}

/// The jiffies of kernels built with `CONFIG_HZ=250`, the coarsest that distributions have but
/// for 100; PIE's timer runs by them, and `tc` shows what it was rounded up to.
const TICK_US: f64 = 4_000.0;

/// Whether the kernel keeps what was wanted as what it shows: it counts CoDel's times in units of
/// 1.024 µs, so tc shows one microsecond less at times; PIE's timer in ticks; a probability in
/// 32 bits.
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
    use super::*;
    use serde_json::json;

    fn link(qdisc: &Json) -> LinkSpec {
        let whole = json!({"name": "up", "rate_bps": 1_000_000, "qdisc": qdisc});
        serde_json::from_value(whole).expect("it is a link")
    }

    fn given(qdisc: &Json) -> Wanted {
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
    fn each_discipline_that_the_kernel_has_is_one_of_ours_with_all_its_parameters() {
        for known in KINDS {
            let kind = aqmlab_qdisc::kinds::find(known.ours).expect("it is one of ours");
            for param in kind.params {
                let told = known.params.iter().any(|(name, _)| *name == param.name);
                assert!(told, "{}.{}: nobody says what becomes of it", known.ours, param.name);
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
                assert!(said.contains("what it has is `"), "{said}");
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
