//! Bottlenecks: HTB and a discipline, installed with `tc` and read back.
//!
//! **Sizes.** The kernel counts a packet with its Ethernet header, 14 bytes more than IP. A size
//! table (`stab`) at HTB takes them off and adds the link's overhead, so that a rate means what it
//! means in the simulator. HTB's child counts the same: a discipline there counts what the link
//! charges, where the simulator's adds [`OverheadSpec::counted`] of its own.
//!
//! **Where it differs from an ideal link.** HTB lets a packet go when its bucket is not in debt
//! and pays afterwards: the packet leaves at the beginning of its time on the wire, not at the
//! end; and after a pause there is credit for one packet more.
//!
//! [`OverheadSpec::counted`]: aqmlab_sim::spec::OverheadSpec::counted

use aqmlab_core::{Args, Direction, Param, Value};
use aqmlab_sim::spec::LinkSpec;
use serde_json::Value as Json;

use crate::run::{run, run_all};

/// A discipline that was installed and read back.
pub(crate) struct Installed {
    /// The index of its device, in its namespace.
    pub(crate) device: u32,
    /// The kernel's name for it.
    pub(crate) kind: &'static str,
    /// The direction that it is for.
    pub(crate) direction: Direction,
}

/// A parameter: ours, tc's, and the name in tc's JSON if it can be read back.
struct Known {
    ours: &'static str,
    tc: &'static str,
    json: Option<&'static str>,
}

const fn known(ours: &'static str, tc: &'static str, json: &'static str) -> Known {
    Known { ours, tc, json: Some(json) }
}

/// Our names of the disciplines that the kernel has, and their parameters in the order in which
/// tc takes them.
const KINDS: &[(&str, &[Known])] = &[
    ("pfifo", &[known("limit", "limit", "limit")]),
    ("bfifo", &[known("limit", "limit", "limit")]),
    (
        "codel",
        &[
            known("limit", "limit", "limit"),
            known("target", "target", "target"),
            known("interval", "interval", "interval"),
            known("ecn", "ecn", "ecn"),
            known("ce_threshold", "ce_threshold", "ce_threshold"),
        ],
    ),
    (
        "fq_codel",
        &[
            known("limit", "limit", "limit"),
            known("flows", "flows", "flows"),
            known("quantum", "quantum", "quantum"),
            known("target", "target", "target"),
            known("interval", "interval", "interval"),
            known("memory_limit", "memory_limit", "memory_limit"),
            known("ecn", "ecn", "ecn"),
            known("ce_threshold", "ce_threshold", "ce_threshold"),
            known("drop_batch", "drop_batch", "drop_batch"),
        ],
    ),
    (
        "pie",
        &[
            known("limit", "limit", "limit"),
            known("target", "target", "target"),
            known("tupdate", "tupdate", "tupdate"),
            known("alpha", "alpha", "alpha"),
            known("beta", "beta", "beta"),
            known("ecn", "ecn", "ecn"),
            known("bytemode", "bytemode", "bytemode"),
        ],
    ),
    (
        "fq_pie",
        &[
            known("limit", "limit", "limit"),
            known("flows", "flows", "flows"),
            known("target", "target", "target"),
            known("tupdate", "tupdate", "tupdate"),
            known("alpha", "alpha", "alpha"),
            known("beta", "beta", "beta"),
            known("quantum", "quantum", "quantum"),
            known("memory_limit", "memory_limit", "memory_limit"),
            known("ecn_prob", "ecn_prob", "ecn_prob"),
            known("ecn", "ecn", "ecn"),
            known("bytemode", "bytemode", "bytemode"),
        ],
    ),
];

fn find(kind: &str) -> Option<&'static (&'static str, &'static [Known])> {
    KINDS.iter().find(|(name, _)| *name == kind)
}

/// Says why the kernel cannot make a link, if it cannot.
pub(crate) fn check(at: &str, link: &LinkSpec) -> Result<(), String> {
    let (_, parameters) = find(&link.qdisc.kind).ok_or_else(|| {
        let known: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
        let problem = format!("the kernel engine has {}", known.join(", "));
        format!("{at}.qdisc: `{}`: {problem}", link.qdisc.kind)
    })?;
    let args = arguments(link)?;
    for name in link.qdisc.params.keys() {
        let unknown = parameters.iter().all(|known| known.ours != name);
        if unknown && args.differs(name) {
            return Err(format!("{at}.qdisc.{name}: the kernel has no such parameter"));
        }
    }
    Ok(())
}

/// The arguments of a link's discipline, defaults of the simulator included, so that both engines
/// run with the same ones whatever the kernel's defaults are.
struct Chosen {
    params: &'static [Param],
    args: Args,
}

impl Chosen {
    fn value(&self, name: &str) -> Option<Value> {
        let param = self.params.iter().find(|param| param.name == name)?;
        Some(match param.default {
            Value::Duration(_) => Value::Duration(self.args.duration(name)),
            Value::MaybeDuration(_) => Value::MaybeDuration(self.args.maybe_duration(name)),
            Value::Count(_) => Value::Count(self.args.count(name)),
            Value::Bytes(_) => Value::Bytes(self.args.bytes(name)),
            Value::Rate(_) => Value::Rate(self.args.rate(name)),
            Value::Number(_) => Value::Number(self.args.number(name)),
            Value::Flag(_) => Value::Flag(self.args.flag(name)),
            Value::Word(_, all) => Value::Word(self.args.word(name), all),
        })
    }

    fn differs(&self, name: &str) -> bool {
        let param = self.params.iter().find(|param| param.name == name);
        param.is_some_and(|param| self.value(name) != Some(param.default))
    }
}

fn arguments(link: &LinkSpec) -> Result<Chosen, String> {
    let kind = aqmlab_qdisc::kinds::find(&link.qdisc.kind)
        .ok_or_else(|| format!("there is no discipline called `{}`", link.qdisc.kind))?;
    let args = aqmlab_sim::arguments::arguments("qdisc", kind.params, &link.qdisc.params)
        .map_err(|error| error.to_string())?;
    Ok(Chosen { params: kind.params, args })
}

/// Makes a link where packets leave through `device`.
pub(crate) fn install(
    device: &str,
    link: &LinkSpec,
    direction: Direction,
) -> Result<Installed, String> {
    let (kind, _) = find(&link.qdisc.kind).ok_or("the trial was not checked")?;
    let parameters = parameters(link)?;
    let options: Vec<_> = parameters.iter().map(|given| given.text.as_str()).collect();
    let rate = link.rate_bps;
    let burst = link.overhead.bytes + 1_600;
    run_all(&[
        format!("tc qdisc add dev {device} root handle 1: {} htb default 1", size_table(link)),
        format!(
            "tc class add dev {device} parent 1: classid 1:1 htb \
             rate {rate}bit ceil {rate}bit burst {burst} cburst {burst} quantum 1514"
        ),
        format!("tc qdisc add dev {device} parent 1:1 handle 10: {kind} {}", options.join(" ")),
    ])?;
    read_back(device, kind, &parameters)?;
    let device = crate::sys::interface(device).map_err(|error| format!("{device}: {error}"))?;
    Ok(Installed { device, kind, direction })
}

fn size_table(link: &LinkSpec) -> String {
    let overhead = i64::from(link.overhead.bytes) - 14;
    let mut text = format!("stab overhead {overhead}");
    if link.overhead.minimum > 0 {
        text = format!("{text} mpu {}", link.overhead.minimum);
    }
    if link.overhead.atm {
        text += " linklayer atm";
    }
    text
}

/// A parameter as tc takes it, and what its JSON should say.
struct Given {
    text: String,
    want: Option<(&'static str, Json)>,
}

fn parameters(link: &LinkSpec) -> Result<Vec<Given>, String> {
    let chosen = arguments(link)?;
    let (_, known) = find(&link.qdisc.kind).ok_or("the trial was not checked")?;
    let mut given = Vec::new();
    for known in *known {
        let Some(value) = chosen.value(known.ours) else { continue };
        let (text, json) = match value {
            Value::Duration(span) | Value::MaybeDuration(Some(span)) => {
                let us = span.as_micros();
                (format!("{} {us}us", known.tc), Json::from(us))
            }
            Value::MaybeDuration(None) => continue,
            Value::Count(count) => (format!("{} {count}", known.tc), Json::from(count)),
            Value::Bytes(size) => (format!("{} {}", known.tc, size.0), Json::from(size.0)),
            Value::Number(number) => (format!("{} {number}", known.tc), Json::from(number)),
            Value::Flag(true) => (known.tc.into(), Json::from(true)),
            Value::Flag(false) if known.tc == "ecn" => ("noecn".into(), Json::from(false)),
            Value::Flag(false) => (String::new(), Json::from(false)),
            Value::Rate(rate) => (format!("{} {}bit", known.tc, rate.as_bps()), Json::Null),
            Value::Word(word, _) => (format!("{} {word}", known.tc), Json::from(word)),
        };
        given.push(Given { text, want: known.json.map(|name| (name, json)) });
    }
    Ok(given)
}

/// Reads back what is installed: a discipline that the kernel did not take silently leaves a
/// FIFO of a thousand packets.
fn read_back(device: &str, kind: &str, parameters: &[Given]) -> Result<(), String> {
    let shown = run(&format!("tc -j qdisc show dev {device}"))?;
    let all: Vec<Json> = serde_json::from_str(&shown)
        .map_err(|error| format!("tc's answer for {device}: {error}: {shown}"))?;
    let child = all.iter().find(|qdisc| qdisc["handle"] == "10:");
    let found = child.map_or("nothing", |qdisc| qdisc["kind"].as_str().unwrap_or("nothing"));
    if found != kind {
        return Err(format!("{device}: {kind} was asked for, but the kernel has {found}"));
    }
    let options = &child.ok_or("no child")?["options"];
    for (name, want) in parameters.iter().filter_map(|given| given.want.as_ref()) {
        let got = &options[name];
        let unit = if *name == "tupdate" { TICK_US } else { 1.0 };
        // A switch that is off is not shown.
        let same = got == want
            || (got.is_null() && want.as_bool() == Some(false))
            || near(got, want, unit);
        if !same {
            let problem = format!("{name} {want} was asked for, but the kernel has {got}");
            return Err(format!("{device}: {kind}: {problem}: {shown}"));
        }
    }
    Ok(())
}

/// The jiffies of kernels built with `CONFIG_HZ=250`, the coarsest that distributions have but
/// for 100; PIE's timer runs by them, and `tc` shows what it was rounded up to.
const TICK_US: f64 = 4_000.0;

/// Whether two times are the same to the kernel: it keeps them in units of 1.024 µs, so tc shows
/// one microsecond less at times, and some in jiffies.
fn near(got: &Json, want: &Json, unit: f64) -> bool {
    match (got.as_f64(), want.as_f64()) {
        (Some(got), Some(want)) => (got - want).abs() <= unit && want > 100.0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(json: &str) -> LinkSpec {
        let whole = format!(r#"{{"name": "up", "rate_bps": 1000000, "qdisc": {json}}}"#);
        serde_json::from_str(&whole).expect("it is a link")
    }

    #[test]
    fn defaults_are_given_too_so_that_both_engines_have_the_same() {
        let link = link(r#"{"kind": "fq_codel", "params": {"target": 7000000, "ecn": false}}"#);
        let given = parameters(&link).expect("the kernel has it");
        let texts: Vec<_> = given.iter().map(|given| given.text.as_str()).collect();
        for text in ["limit 10240", "target 7000us", "interval 100000us", "noecn"] {
            assert!(texts.contains(&text), "{text} is not in {texts:?}");
        }
    }

    #[test]
    fn what_the_kernel_does_not_have_is_refused_by_name() {
        for (json, said) in [
            (r#"{"kind": "fq_codel_freebsd"}"#, "links[0].qdisc: `fq_codel_freebsd`"),
            (r#"{"kind": "codel", "params": {"mtu": 300}}"#, "links[0].qdisc.mtu"),
        ] {
            let problem = check("links[0]", &link(json)).expect_err("it cannot be made");
            assert!(problem.starts_with(said), "{problem}");
        }
        assert_eq!(
            check("links[0]", &link(r#"{"kind": "codel", "params": {"mtu": 1514}}"#)),
            Ok(())
        );
    }

    #[test]
    fn a_link_charges_ip_bytes_and_its_overhead() {
        let mut link = link(r#"{"kind": "pfifo"}"#);
        assert_eq!(size_table(&link), "stab overhead -14");
        link.overhead.bytes = 24;
        link.overhead.atm = true;
        assert_eq!(size_table(&link), "stab overhead 10 linklayer atm");
    }

    #[test]
    fn a_time_that_the_kernel_rounded_is_the_same_and_another_is_not() {
        assert!(near(&Json::from(4_999), &Json::from(5_000), 1.0));
        assert!(!near(&Json::from(4_990), &Json::from(5_000), 1.0));
        assert!(near(&Json::from(16_000), &Json::from(15_000), TICK_US));
        assert!(!near(&Json::from(99), &Json::from(100), 1.0));
        assert!(!near(&Json::Null, &Json::from(5_000), 1.0));
    }
}
