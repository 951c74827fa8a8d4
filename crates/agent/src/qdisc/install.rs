//! Bottlenecks: HTB and a discipline, which are installed with `tc` and read back.
//!
//! **Sizes.** The kernel counts a packet with its Ethernet header, 14 bytes more than IP. A size
//! table (`stab`) at HTB's root converts this length to the IP length plus
//! [`OverheadSpec::counted`], which the discipline counts. HTB's class adds the rest of the bytes
//! that the link charges. Rates, and limits in bytes, therefore have the simulator's meaning. HTB
//! cannot charge less than its discipline counts, so a link that charges less is refused.
//!
//! **Bursts.** HTB sends a packet whenever its bucket is not in debt, and charges the packet
//! afterwards. A link shaped by HTB has tc's default bucket, [`BURST`]. A link with the shaper
//! `line` has a bucket worth [`SLACK_NS`] of the link's time. The link is therefore never ahead of
//! an ideal link by more than this time. A bucket of one packet would send two packets at once
//! after a pause. The bucket also compensates late timers, so that a busy link carries its whole
//! rate. HTB releases a packet at the beginning of its time on the wire; for a line,
//! `testbed::netem` adds that time.
//!
//! **CAKE's own shaper.** With [`ShaperSpec::Cake`] the discipline is the root of the device,
//! without HTB. The size table is then at CAKE.
//!
//! [`OverheadSpec::counted`]: aqmlab_trial::spec::OverheadSpec::counted

use aqmlab_core::{Bytes, Direction, Overhead};
use aqmlab_trial::spec::{LinkSpec, ShaperSpec};
use serde_json::Value as Json;

use super::stats::StatsReader;
use super::tc_params::{self, Wanted};
use crate::command::{run, run_all};
use crate::links::signed;

/// The longest time in nanoseconds by which a link may be ahead of an ideal link. HTB's timer can
/// be this late without loss of rate. The value is several times the timer jitter in a guest.
const SLACK_NS: u64 = 100_000;
/// The bucket in bytes that tc gives HTB on Ethernet, as in the simulator.
const BURST: u64 = 1_600;
/// The highest rate in bits per second. It fits into 32 bits in bytes per second, in which HTB and
/// netem hold a rate without an extension.
const MOST_BPS: u64 = 10_000_000_000;
/// The lowest rate in bits per second. At lower rates, the transmission time of a large packet may
/// exceed HTB's range of a minute.
const LEAST_BPS: u64 = 8_000;

/// A discipline that was installed and read back.
pub(crate) struct Installed {
    /// The index of the discipline's device, in its namespace.
    pub(crate) device: u32,
    /// The kernel's name for the discipline.
    pub(crate) kind: &'static str,
    /// The direction of the discipline's packets.
    pub(crate) direction: Direction,
}

/// Refuses a link that the kernel cannot provide.
pub(crate) fn check(at: &str, link: &LinkSpec) -> Result<(), String> {
    tc_params::wanted(at, link)?;
    let over = link.overhead;
    for (key, varies) in [
        ("rate_steps", !link.rate_steps.is_empty()),
        ("opportunities_ms", !link.opportunities_ms.is_empty()),
    ] {
        if varies {
            return Err(format!(
                "{at}.{key}: a rate that varies (path.rate): the kernel engine sets the rate of a \
                 link once, before the trial"
            ));
        }
    }
    if !(LEAST_BPS..=MOST_BPS).contains(&link.rate_bps()) {
        let range = format!("{LEAST_BPS} to {MOST_BPS}");
        return Err(format!(
            "{at}.rate_bps: {}: the kernel engine has {range} bit/s",
            link.rate_bps()
        ));
    }
    if link.shaper == ShaperSpec::Dummynet {
        return Err(format!(
            "{at}.shaper: `dummynet` is FreeBSD's; the kernel's own links are `line` or `htb`"
        ));
    }
    if over.counted > over.bytes {
        return Err(format!(
            "{at}.overhead.counted: {} B, but the link charges {} B: HTB cannot charge less than \
             its discipline counts; `ip` and `ethernet` charge as much",
            over.counted.0, over.bytes.0
        ));
    }
    // The kernel stores both values in 16 bits.
    if over.bytes.max(over.minimum) > Bytes(1_500) {
        return Err(format!("{at}.overhead: more than 1500 B; the kernel engine has less"));
    }
    check_place(at, link)
}

/// Refuses a link that has no place in the testbed.
pub(crate) fn check_place(at: &str, link: &LinkSpec) -> Result<(), String> {
    if link.own {
        return Err(format!(
            "{at}.own: a host's own link (path.lan): the kernel engine has only the bottleneck of \
             the gateway; leave path.lan out"
        ));
    }
    Ok(())
}

/// Returns the number of bytes that a link charges for an IP packet.
pub(crate) fn charged(link: &LinkSpec, ip_len: u32) -> u64 {
    Overhead::from(link.overhead).on_link(ip_len).0
}

/// Installs a link whose packets leave through `device`, in the namespace of this process.
pub(crate) fn install(
    device: &str,
    link: &LinkSpec,
    direction: Direction,
) -> Result<Installed, String> {
    let wanted = tc_params::wanted(&link.name, link)?;
    let htb = Htb::of(link);
    let child = format!("handle 10: {} {}", wanted.kind, wanted.options);
    let own = link.shaper == ShaperSpec::Cake;
    let mut lines = if own {
        vec![format!(
            "tc qdisc add dev {device} root {}",
            child.replacen("10:", &format!("10: {}", htb.table()), 1)
        )]
    } else {
        vec![
            format!("tc qdisc add dev {device} root handle 1: {} htb default 1", htb.table()),
            format!("tc class add dev {device} parent 1: classid 1:1 htb {}", htb.class()),
            format!("tc qdisc add dev {device} parent 1:1 {child}"),
        ]
    };
    if let Some(packets) = wanted.device_queue {
        lines.insert(0, format!("ip link set dev {device} txqueuelen {packets}"));
    }
    run_all(&lines)?;
    let index = crate::sys::interface(device).map_err(|error| format!("{device}: {error}"))?;
    if !own {
        htb.read_back(index).map_err(|problem| format!("{device}: {problem}"))?;
    }
    let root = if own { ("10:", wanted.kind) } else { ("1:", "htb") };
    read_back(device, &wanted, root, htb.counted)
        .map_err(|problem| format!("{device}: {problem}"))?;
    Ok(Installed { device: index, kind: wanted.kind, direction })
}

/// The requested root and class of HTB.
#[derive(Debug, PartialEq, Eq)]
struct Htb {
    rate_bps: u64,
    /// The size of the bucket in bytes.
    burst: u64,
    /// The bytes that the size table adds to the length of a frame; negative if it subtracts.
    counted: i64,
    /// The bytes that the class adds to the length after the size table.
    overhead: u32,
    minimum: u32,
    atm: bool,
}

impl Htb {
    fn of(link: &LinkSpec) -> Self {
        let over = link.overhead;
        Self {
            rate_bps: link.rate_bps(),
            burst: match link.shaper {
                // If the size is zero, tc chooses a bucket itself.
                ShaperSpec::Line | ShaperSpec::Dummynet => {
                    (link.rate_bps() / 8 * SLACK_NS / 1_000_000_000).max(1)
                }
                ShaperSpec::Htb => BURST,
                // CAKE has no HTB above it.
                ShaperSpec::Cake => 0,
            },
            counted: signed(over.counted) - 14,
            overhead: (over.bytes - over.counted).0 as u32,
            minimum: over.minimum.0 as u32,
            atm: over.atm,
        }
    }

    /// Returns the size table as words for tc. Without an adjustment the text is empty, because tc
    /// refuses an empty table.
    fn table(&self) -> String {
        if self.counted == 0 { String::new() } else { format!("stab overhead {}", self.counted) }
    }

    fn class(&self) -> String {
        let Self { rate_bps, burst, overhead, minimum, .. } = self;
        let layer = if self.atm { "atm" } else { "ethernet" };
        format!(
            "rate {rate_bps}bit ceil {rate_bps}bit burst {burst} cburst {burst} quantum 1514 \
             overhead {overhead} mpu {minimum} linklayer {layer}"
        )
    }

    /// Checks that the class in the kernel is as requested.
    fn read_back(&self, device: u32) -> Result<(), String> {
        let options = StatsReader::new()?.class(device)?;
        self.compare(&options)
    }

    /// Checks that a `tc_htb_opt` of `linux/pkt_sched.h` is as requested.
    fn compare(&self, options: &[u8]) -> Result<(), String> {
        let byte = |at: usize| u64::from(options.get(at).copied().unwrap_or_default());
        let half = |at: usize| byte(at) | byte(at + 1) << 8;
        let word = |at: usize| half(at) | half(at + 2) << 16;
        // Times are in ticks of 64 ns.
        let bucket_ns = self.burst * 8_000_000_000 / self.rate_bps;
        for (name, got, want) in [
            ("linklayer", byte(1) & 0xf, if self.atm { 2 } else { 1 }),
            ("overhead", half(2), self.overhead.into()),
            ("mpu", half(6), self.minimum.into()),
            ("rate", word(8), self.rate_bps / 8),
            ("ceil", word(20), self.rate_bps / 8),
            ("burst", word(24), bucket_ns / 64),
            ("cburst", word(28), bucket_ns / 64),
        ] {
            let near = name.ends_with("burst") && got.abs_diff(want) <= 1 + want / 100;
            if got != want && !near {
                let problem = format!("{name} {want} was asked for, but the kernel has {got}");
                return Err(format!("htb: {problem}"));
            }
        }
        Ok(())
    }
}

/// Reads the root and the discipline back, and checks that they are as requested. If the kernel
/// silently refuses a discipline, a FIFO of a thousand packets remains.
fn read_back(
    device: &str,
    wanted: &Wanted,
    (handle, kind): (&str, &str),
    table: i64,
) -> Result<(), String> {
    let all = show(device)?;
    let of = |handle: &str| all.iter().find(|qdisc| qdisc["handle"] == handle);
    let root = of(handle).ok_or_else(|| format!("no {kind}"))?;
    let counted = root["stab"]["overhead"].as_i64().unwrap_or(0);
    if root["kind"] != kind || counted != table {
        return Err(format!(
            "{kind} with a size table of {table} was asked for, but there is {root}"
        ));
    }
    tc_params::compare(wanted, of("10:").unwrap_or(&Json::Null))?;
    if let Some(packets) = wanted.device_queue {
        let shown = json(&run(&format!("ip -j link show dev {device}"))?)?;
        let got = &shown[0]["txqlen"];
        if *got != packets {
            return Err(format!("a queue of {packets} was asked for, but the device has {got}"));
        }
    }
    Ok(())
}

/// Returns the disciplines of a device, as tc shows them.
pub(crate) fn show(device: &str) -> Result<Vec<Json>, String> {
    let all = json(&run(&format!("tc -d -j qdisc show dev {device}"))?)?;
    Ok(all.as_array().cloned().unwrap_or_default())
}

fn json(text: &str) -> Result<Json, String> {
    serde_json::from_str(text)
        .map_err(|error| format!("unreadable output of tc or ip: {error}: {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::BitRate;
    use aqmlab_trial::spec::Named;
    use serde_json::json;

    fn link(overhead: &Json) -> LinkSpec {
        let whole = json!({
            "name": "up", "rate_bps": 12_000_000, "qdisc": {"kind": "pfifo"}, "overhead": overhead,
        });
        serde_json::from_value(whole).expect("it is a link")
    }

    /// Returns the length of a frame after the size table, and the length that HTB charges, in
    /// bytes.
    fn by_htb(htb: &Htb, ip_len: i64) -> (i64, i64) {
        let counted = ip_len + 14 + htb.counted;
        let framed = (counted + i64::from(htb.overhead)).max(htb.minimum.into());
        (counted, if htb.atm { (framed + 47) / 48 * 53 } else { framed })
    }

    #[test]
    fn the_discipline_counts_and_the_link_charges_what_the_simulator_does() {
        for (overhead, want) in [
            (json!({}), (1_500, 1_500)),
            (json!({"bytes": 14, "counted": 14}), (1_514, 1_514)),
            (json!({"bytes": 38, "minimum": 84, "counted": 14}), (1_514, 1_538)),
            (json!({"bytes": 40, "atm": true, "counted": 14}), (1_514, 33 * 53)),
        ] {
            let link = link(&overhead);
            assert_eq!(check("links[0]", &link), Ok(()));
            assert_eq!(by_htb(&Htb::of(&link), 1_500), want, "{overhead}");
            assert_eq!(charged(&link, 1_500), want.1 as u64);
        }
        let small = link(&json!({"bytes": 38, "minimum": 84}));
        assert_eq!(by_htb(&Htb::of(&small), 40).1, 84);
        assert_eq!(charged(&small, 40), 84);
    }

    #[test]
    fn links_that_htb_cannot_be_are_refused_by_name() {
        let change = |change: fn(&mut LinkSpec)| {
            let mut link = link(&json!({}));
            change(&mut link);
            check("links[0]", &link).expect_err("it cannot be made")
        };
        for (said, at) in [
            (change(|link| link.overhead.counted = Bytes(14)), "links[0].overhead.counted: 14 B"),
            (change(|link| link.rate = BitRate::new(1_000)), "links[0].rate_bps: 1000"),
            (change(|link| link.overhead.minimum = Bytes(9_000)), "links[0].overhead"),
            (change(|link| link.own = true), "links[0].own"),
            (change(|link| link.opportunities_ms = vec![1]), "links[0].opportunities_ms: a rate"),
            (change(|link| link.shaper = ShaperSpec::Dummynet), "links[0].shaper: `dummynet`"),
            (
                change(|link| link.qdisc.kind = Named::find("pie_freebsd").unwrap()),
                "links[0].qdisc",
            ),
        ] {
            assert!(said.starts_with(at), "{said}");
        }
    }

    #[test]
    fn the_bucket_is_a_tenth_of_a_millisecond_or_what_tc_gives() {
        let mut link = link(&json!({}));
        assert_eq!(Htb::of(&link).burst, 150);
        link.rate = BitRate::new(64_000);
        assert_eq!(Htb::of(&link).burst, 1);
        link.shaper = ShaperSpec::Htb;
        assert_eq!(Htb::of(&link).burst, 1_600);
    }

    #[test]
    fn a_class_that_differs_is_found_out() {
        let htb = Htb::of(&link(&json!({"bytes": 38, "minimum": 84, "counted": 14})));
        let mut options = vec![0; 44];
        for (at, value) in [(8, 1_500_000_u32), (20, 1_500_000), (24, 1_562), (28, 1_562)] {
            options[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        options[1] = 1;
        options[2..4].copy_from_slice(&24_u16.to_le_bytes());
        options[6..8].copy_from_slice(&84_u16.to_le_bytes());
        assert_eq!(htb.compare(&options), Ok(()));
        options[6] = 0;
        let problem = htb.compare(&options).expect_err("the minimum differs");
        assert!(problem.contains("mpu 84 was asked for, but the kernel has 0"), "{problem}");
    }
}
