//! CAKE's parameters in tc, several of which tc composes from keywords.

use aqmlab_core::{Args, BitRate, Bytes, Duration};
use aqmlab_qdisc::cake::settings::{Charge, Framing};
use serde_json::Value as Json;

/// Adds CAKE's words to tc's command line, and the values to read back.
///
/// # Errors
///
/// If the round-trip time is not a whole number of microseconds, or the overhead exceeds tc's
/// maximum.
pub(super) fn compose(
    at: &str,
    args: &Args,
    counted: Bytes,
    words: &mut Vec<String>,
    reads: &mut Vec<(&'static str, Json)>,
) -> Result<(), String> {
    words.push(match args.maybe_rate("bandwidth").map(BitRate::as_bps) {
        Some(bps) => format!("bandwidth {bps}bit"),
        None => "unlimited".into(),
    });
    for (name, shown) in [("diffserv", "diffserv"), ("isolation", "flowmode")] {
        words.push(args.word(name).into());
        reads.push((shown, args.word(name).into()));
    }
    words.push(match args.maybe_duration("rtt") {
        Some(rtt) => format!("rtt {}us", whole_micros(at, rtt)?),
        None => args.word("network").into(),
    });
    words.extend(charge(at, args, counted)?);
    if args.bytes("memlimit").0 > 0 {
        words.push(format!("memlimit {}", args.bytes("memlimit").0));
    }
    words.push(match args.word("ack_filter") {
        "on" => "ack-filter".into(),
        "aggressive" => "ack-filter-aggressive".into(),
        _ => "no-ack-filter".into(),
    });
    let flags = [("ingress", "ingress", "egress"), ("wash", "wash", "nowash")];
    for (name, on, off) in flags {
        words.push(if args.flag(name) { on } else { off }.into());
        reads.push((name, args.flag(name).into()));
    }
    if args.flag("autorate_ingress") {
        words.push("autorate-ingress".into());
    }
    Ok(())
}

fn whole_micros(at: &str, rtt: Duration) -> Result<u64, String> {
    if !rtt.as_nanos().is_multiple_of(1_000) {
        return Err(format!("{at}.qdisc.rtt: {rtt}: the kernel counts whole microseconds"));
    }
    Ok(rtt.as_micros())
}

/// The length of the Ethernet header in bytes.
const FRAME: u64 = 14;
/// The maximum overhead in bytes that tc accepts.
const MOST_OVERHEAD: u64 = 256;

/// Returns tc's words for the charged length, with numbers in place of keywords. If an overhead is
/// set, CAKE subtracts the whole link header from a packet's length (`cake_overhead`). The length
/// after the size table has only `counted` bytes of this header, so the overhead adds the rest.
fn charge(at: &str, args: &Args, counted: Bytes) -> Result<Vec<String>, String> {
    let extra = args.count("overhead") + 4 * args.count("vlans");
    let mpu = args.bytes("mpu").0 as u16;
    let charge = Charge::of_link(args.word("link"), extra as u16, args.word("framing"), mpu);
    let overhead = charge.overhead.map(|it| u64::from(it) + FRAME - counted.0.min(FRAME));
    if overhead.is_some_and(|it| it > MOST_OVERHEAD) {
        let most = MOST_OVERHEAD + counted.0.min(FRAME) - FRAME;
        return Err(format!("{at}.qdisc.overhead: the kernel engine has at most {most} bytes"));
    }
    let mut words = vec![overhead.map_or("raw".into(), |it| format!("overhead {it}"))];
    words.push(
        match charge.framing {
            Framing::None => "noatm",
            Framing::Atm => "atm",
            Framing::Ptm => "ptm",
        }
        .into(),
    );
    if charge.mpu > 0 {
        words.push(format!("mpu {}", charge.mpu));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::super::tests::given;
    use serde_json::json;

    #[test]
    fn keywords_are_given_to_tc_as_numbers() {
        let options =
            |params: &serde_json::Value| given(&json!({"kind": "cake", "params": params})).options;
        assert_eq!(
            options(&json!({})),
            "unlimited diffserv3 triple-isolate internet raw noatm no-ack-filter egress nowash"
        );
        let told = options(&json!({
            "bandwidth": 20_000_000, "link": "docsis", "vlans": 1, "rtt": 30_000_000,
            "ack_filter": "aggressive", "ingress": true, "memlimit": 4_000_000,
        }));
        for words in [
            "bandwidth 20000000bit",
            "rtt 30000us",
            "overhead 36 noatm mpu 64",
            "ack-filter-aggressive",
            "ingress",
            "memlimit 4000000",
        ] {
            assert!(told.contains(words), "{words} is not in {told}");
        }
    }
}
