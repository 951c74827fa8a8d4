//! The path behind a bottleneck: netem adds the time on the wire, propagation delay, loss and
//! jitter.
//!
//! ```text
//!  netem rate ─ prio ┬ netem delay, jitter, loss      one for each different path
//!                    └ netem …
//! ```
//!
//! A packet leaves HTB at the start of its time on the wire. The first netem delays the packet by
//! its time on a link of the same rate. The first netem never queues, because HTB has spaced the
//! packets out. A size table makes the first netem count the bytes that the link charges. The other
//! netems correspond to the delay lines of the simulator. Jitter is drawn uniformly, for the host
//! and the path together. On a path that does not reorder, the other netems have an almost infinite
//! rate, because a netem with a rate sends packets in order.
//!
//! Source: Linux 6.1 `net/sched/sch_netem.c` (`netem_enqueue`, `tabledist`, `packet_time_ns`).
//! **Difference:** tc counts netem's times in ticks of 64 ns.

use aqmlab_core::{Bytes, Direction, Duration};
use aqmlab_trial::Spec;
use aqmlab_trial::spec::{AppSpec, LinkSpec, RouteSpec, ShaperSpec};
use serde_json::Value as Json;

use super::selector;
use crate::command::{run, run_all};
use crate::links::signed;
use crate::qdisc::show;

/// The maximum number of different paths in one direction, which is the maximum number of bands of
/// `prio`.
const MOST_PATHS: usize = 16;
/// The maximum jitter in nanoseconds. Netem draws the jitter in 32 bits.
const MOST_JITTER_NS: u64 = 4_000_000_000;
/// The limit of a netem in packets, more than a netem ever holds.
const ROOM: u32 = 1_000_000;
/// The tolerance for a time that tc shows, in seconds: a tick of tc's clock and its rounding error.
const TICK_S: f64 = 1.3e-7;

/// The delay, jitter and loss of an application's packets after the link.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Netem {
    delay_ns: u64,
    jitter_ns: u64,
    loss: f64,
    /// Whether jitter may reorder packets.
    reorder: bool,
}

impl Netem {
    /// Returns the netem of a route. `host_jitter` is drawn together with the route's own jitter.
    fn of(route: &RouteSpec, host_jitter: Duration) -> Self {
        Self {
            delay_ns: route.delay.as_nanos(),
            jitter_ns: route.jitter_with(host_jitter).as_nanos(),
            loss: route.loss,
            reorder: route.reorders(),
        }
    }

    fn netem(&self) -> String {
        let (delay, half) = (us(self.delay_ns + self.jitter_ns / 2), us(self.jitter_ns / 2));
        let mut text = format!("netem limit {ROOM} delay {delay}");
        if self.jitter_ns > 0 {
            text = format!("{text} {half}");
        }
        if self.loss > 0.0 {
            text = format!("{text} loss random {}%", 100.0 * self.loss);
        }
        if self.jitter_ns > 0 && !self.reorder {
            text += " rate 1000gbit";
        }
        text
    }

    /// Returns whether tc shows this configuration.
    fn is(&self, shown: &Json) -> bool {
        let options = &shown["options"];
        let float = |value: &Json| value.as_f64().unwrap_or_default();
        let delay = (self.delay_ns + self.jitter_ns / 2) as f64 / 1e9;
        let jitter = (self.jitter_ns / 2) as f64 / 1e9;
        // tc shows at least four digits of a time.
        let near = |got: f64, want: f64| (got - want).abs() <= TICK_S + want * 1e-3;
        let jitter_near = |got: f64, want: f64| (got - want).abs() <= 1e-6 + want * 1e-3;
        shown["kind"] == "netem"
            && near(float(&options["delay"]["delay"]), delay)
            && jitter_near(float(&options["delay"]["jitter"]), jitter)
            && (float(&options["loss-random"]["loss"]) - self.loss).abs() <= 1e-4 * self.loss
            && options["rate"].is_null() == (self.reorder || self.jitter_ns == 0)
    }
}

/// Formats a time for tc, which accepts fractions of microseconds but no nanoseconds.
fn us(ns: u64) -> String {
    format!("{}.{:03}us", ns / 1_000, ns % 1_000)
}

/// Returns the different netems of a direction, and the index of each application's netem.
fn netems(spec: &Spec, direction: Direction) -> (Vec<Netem>, Vec<usize>) {
    let mut all: Vec<Netem> = Vec::new();
    let of = |app: &AppSpec| Netem::of(app.route(direction), spec.host_jitter);
    let places = spec.apps.iter().map(|app| {
        all.iter().position(|known| *known == of(app)).unwrap_or_else(|| {
            all.push(of(app));
            all.len() - 1
        })
    });
    let places = places.collect();
    (all, places)
}

/// Refuses routes that netem cannot reproduce.
pub(crate) fn check(spec: &Spec) -> Result<(), String> {
    for direction in Direction::BOTH {
        let (all, places) = netems(spec, direction);
        if all.len() > MOST_PATHS {
            let problem = "different delays, jitters and losses; the kernel engine has";
            return Err(format!("apps.{}: {} {problem} {MOST_PATHS}", direction.name(), all.len()));
        }
        for (app, &place) in places.iter().enumerate() {
            if all[place].jitter_ns > MOST_JITTER_NS {
                return Err(format!(
                    "apps[{app}].{}.jitter_ns: {} with the host's: netem has at most \
                     {MOST_JITTER_NS}",
                    direction.name(),
                    all[place].jitter_ns
                ));
            }
        }
    }
    Ok(())
}

/// Installs the netems of a direction at `device`, in the namespace of this process. Packets leave
/// through `device` for their host. If the shaper of `link` is `line`, the netem of the link's wire
/// comes first.
pub(crate) fn install(
    device: &str,
    spec: &Spec,
    direction: Direction,
    link: Option<&LinkSpec>,
) -> Result<(), String> {
    let (all, places) = netems(spec, direction);
    if all.is_empty() {
        return Ok(());
    }
    // Only the wire behind the shaper `line` takes time.
    let link = link.filter(|link| link.shaper == ShaperSpec::Line);
    let mut lines = Vec::new();
    let mut below = match link {
        Some(link) => {
            lines.push(format!("tc qdisc add dev {device} root handle 1: {}", wire(link)));
            "parent 1:1"
        }
        None => "root",
    };
    if all.len() > 1 {
        let (bands, zeros) = (all.len(), ["0"; 16].join(" "));
        lines.push(format!(
            "tc qdisc add dev {device} {below} handle 2: prio bands {bands} priomap {zeros}"
        ));
        below = "";
    }
    for (band, way) in (1..).zip(&all) {
        let place = if below.is_empty() { format!("parent 2:{band:x}") } else { below.into() };
        let handle = format!("{:x}:", 0x10 + band);
        lines.push(format!("tc qdisc add dev {device} {place} handle {handle} {}", way.netem()));
    }
    for (app, place) in places.iter().enumerate().filter(|_| all.len() > 1) {
        lines.push(format!(
            "tc filter add dev {device} parent 2: protocol ip prio 1 u32 {} flowid 2:{:x}",
            selector(spec, app, direction),
            place + 1
        ));
    }
    run_all(&lines)?;
    read_back(device, link, &all)?;
    filters(device, if all.len() > 1 { places.len() } else { 0 })
}

/// Returns the netem that models the wire of a link.
fn wire(link: &LinkSpec) -> String {
    let over = link.overhead;
    let mut table = format!("stab overhead {}", signed(over.bytes) - 14);
    if over.minimum > Bytes(0) {
        table = format!("{table} mpu {}", over.minimum.0);
    }
    if over.atm {
        table += " linklayer atm";
    }
    if over.minimum > Bytes(0) || over.atm {
        // The table has steps of one byte and is for packets up to its MTU.
        table += " mtu 2047 tsize 2048";
    } else if over.bytes == Bytes(14) {
        // tc refuses an empty table.
        table.clear();
    }
    format!("{table} netem limit {ROOM} rate {}bit", link.rate_bps())
}

fn read_back(device: &str, link: Option<&LinkSpec>, all: &[Netem]) -> Result<(), String> {
    let shown = show(device)?;
    let of =
        |handle: &str| shown.iter().find(|qdisc| qdisc["handle"] == handle).unwrap_or(&Json::Null);
    if let Some(link) = link {
        let (root, over) = (of("1:"), link.overhead);
        let stab = |name: &str| root["stab"][name].as_i64().unwrap_or(0);
        let same = root["kind"] == "netem"
            && root["options"]["rate"]["rate"] == link.rate_bps() / 8
            && stab("overhead") == signed(over.bytes) - 14
            && stab("mpu") == signed(over.minimum)
            && (root["stab"]["linklayer"] == "atm") == over.atm;
        if !same {
            return Err(format!("{device}: `{}` was asked for, but there is {root}", wire(link)));
        }
    }
    for (band, way) in (1..).zip(all) {
        let found = of(&format!("{:x}:", 0x10 + band));
        if !way.is(found) {
            let want = way.netem();
            return Err(format!("{device}: `{want}` was asked for, but there is {found}"));
        }
    }
    Ok(())
}

/// Checks that `device` has as many filters as `wanted`.
fn filters(device: &str, wanted: usize) -> Result<(), String> {
    if wanted == 0 {
        return Ok(());
    }
    let shown = run(&format!("tc -j filter show dev {device} parent 2:"))?;
    let there = shown.matches("\"flowid\"").count();
    if there == wanted {
        return Ok(());
    }
    Err(format!("{device}: {wanted} filters were asked for, but there are {there}: {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn route(delay_ns: u64, jitter_ns: u64, reorder: bool) -> RouteSpec {
        let (delay, jitter) = (Duration::from_nanos(delay_ns), Duration::from_nanos(jitter_ns));
        RouteSpec { links: vec![0], delay, jitter, reorder, ..RouteSpec::default() }
    }

    #[test]
    fn jitter_lies_above_the_delay_and_keeps_the_order_unless_it_may_not() {
        let way =
            |reorder| Netem::of(&route(20_000_000, 1_000_000, reorder), Duration::from_micros(50));
        assert_eq!(way(true).netem(), "netem limit 1000000 delay 20525.000us 525.000us");
        assert!(way(false).netem().ends_with("rate 1000gbit"));
        // The jitter of a host alone never reorders packets.
        let host = Netem::of(&route(20_000_000, 0, true), Duration::from_micros(50));
        assert_eq!(host.netem(), "netem limit 1000000 delay 20025.000us 25.000us rate 1000gbit");
        assert_eq!(
            Netem::of(&route(5, 0, true), Duration::ZERO).netem(),
            "netem limit 1000000 delay 0.005us"
        );
    }

    #[test]
    fn a_wire_charges_what_its_link_does() {
        let link = |overhead: Json| -> LinkSpec {
            let qdisc = json!({"kind": "pfifo"});
            let whole =
                json!({"name": "up", "rate_bps": 8_000, "qdisc": qdisc, "overhead": overhead});
            serde_json::from_value(whole).expect("it is a link")
        };
        assert_eq!(wire(&link(json!({}))), "stab overhead -14 netem limit 1000000 rate 8000bit");
        let frames = wire(&link(json!({"bytes": 14, "counted": 14})));
        assert_eq!(frames.trim(), "netem limit 1000000 rate 8000bit");
        let atm = wire(&link(json!({"bytes": 40, "minimum": 60, "atm": true})));
        assert!(atm.starts_with("stab overhead 26 mpu 60 linklayer atm mtu 2047 tsize 2048 netem"));
    }

    #[test]
    fn a_netem_that_differs_is_found_out() {
        let way = Netem {
            loss: 0.01,
            ..Netem::of(&route(20_000_000, 0, false), Duration::from_micros(50))
        };
        let shown = |delay: f64, loss: f64| {
            json!({"kind": "netem", "options": {
                "delay": {"delay": delay, "jitter": 2.4e-5}, "loss-random": {"loss": loss},
                "rate": {"rate": 125_000_000_000_u64},
            }})
        };
        assert!(way.is(&shown(0.020_025, 0.01)));
        for wrong in [shown(0.021, 0.01), shown(0.020_025, 0.02), json!({"kind": "pfifo"})] {
            assert!(!way.is(&wrong), "{wrong}");
        }
    }
}
