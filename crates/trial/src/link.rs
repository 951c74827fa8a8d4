//! The port and the radio of a link.

use aqmlab_core::delivery_trace::{DeliveryTrace, Opportunities};
use aqmlab_core::{Args, Bytes, Duration, Overhead, RateStep, RateSteps};
use aqmlab_node::wifi::{HtRate, RadioConfig, Width};
use aqmlab_node::{Port, Shaper, VaryingRate};

use crate::arguments::arguments;
use crate::error::SpecError;
use crate::spec::{LinkSpec, OverheadSpec, ShaperSpec, WifiSpec};
use crate::streams::Stream;

/// The maximum overhead of a packet in bytes, equal to the size of the largest packet.
const MOST_OVERHEAD: Bytes = Bytes(65_535);

/// The maximum number of changes of a link's rate.
const MOST_STEPS: usize = 10_000;
/// The maximum number of delivery opportunities of a trace. They bound the memory of a trial.
const MOST_OPPORTUNITIES: usize = 2_000_000;

/// A link with its port and its radio.
pub struct ResolvedLink {
    /// The discipline and the link behind it.
    pub port: Port,
    /// The radio that sends the packets, if the link is an 802.11n link.
    pub radio: Option<RadioConfig>,
}

impl ResolvedLink {
    /// Builds the link at the place `at` in a trial with the seed `seed`.
    ///
    /// # Errors
    ///
    /// If the rate is zero, or if the discipline, the overhead, the shaper or the radio of the link
    /// is invalid.
    pub fn new(at: &str, link: &LinkSpec, seed: u64) -> Result<Self, SpecError> {
        let radio = radio(at, link)?;
        let rate = radio.map(|radio| radio.rate.bit_rate()).or(link.rate).ok_or_else(|| {
            SpecError::new(format!("{at}.rate_bps"), "a rate of zero sends nothing")
        })?;
        let kind = link.qdisc.kind.0;
        let args = arguments(&format!("{at}.qdisc"), kind.params, &link.qdisc.params)?;
        let overhead = overhead(at, link.overhead)?;
        check_own_shaper(at, link, &args)?;
        let qdisc = (kind.build)(&args);
        let mut port = Port::new(qdisc, rate, overhead, Stream::Qdisc(&link.name).rng(seed))
            .shaped_by(shaper(link.shaper))
            .delayed_by(link.pipe_delay);
        if let Some(varying) = varying(at, link)? {
            port = port.varied_by(varying);
        }
        // Traffic arrives at a gateway that has already been running, so its timers have a random
        // phase.
        port.warm_up(Stream::Phase(&link.name).rng(seed).next_u64());
        Ok(Self { port, radio })
    }
}

/// Refuses the shaper `cake` unless the discipline is `cake` and its bandwidth is the rate of the
/// link.
fn check_own_shaper(at: &str, link: &LinkSpec, args: &Args) -> Result<(), SpecError> {
    if link.shaper != ShaperSpec::Cake {
        return Ok(());
    }
    let at = format!("{at}.shaper");
    let kind = link.qdisc.kind.0.name;
    if kind != "cake" {
        let problem = format!("`cake` is the shaper of the discipline `cake`, not of `{kind}`");
        return Err(SpecError::new(at, problem));
    }
    if args.maybe_rate("bandwidth") != link.rate {
        let rate = link.rate_bps();
        let problem = format!("`cake` needs the discipline's `bandwidth` to be `rate_bps`, {rate}");
        return Err(SpecError::new(at, problem));
    }
    Ok(())
}

/// Returns the rate of the link at the place `at` over time, if it varies.
fn varying(at: &str, link: &LinkSpec) -> Result<Option<VaryingRate>, SpecError> {
    let wrong = |key: &str, problem: String| SpecError::new(format!("{at}.{key}"), problem);
    let (steps, gaps) = (&link.rate_steps, &link.opportunities_ms);
    let key = match (steps.is_empty(), gaps.is_empty()) {
        (true, true) => return Ok(None),
        (false, true) => "rate_steps",
        (true, false) => "opportunities_ms",
        (false, false) => {
            let problem = "given together with `rate_steps`; leave one of the two out";
            return Err(wrong("opportunities_ms", problem.into()));
        }
    };
    for (key, count, most) in [
        ("rate_steps", steps.len(), MOST_STEPS),
        ("opportunities_ms", gaps.len(), MOST_OPPORTUNITIES),
    ] {
        if count > most {
            return Err(wrong(key, format!("{count} are too many, {most} at most")));
        }
    }
    if link.wifi.is_some() {
        return Err(wrong(key, "a radio has the rate of its `mcs`".into()));
    }
    let varying =
        if gaps.is_empty() {
            let changes: Vec<_> =
                steps.iter().map(|step| RateStep { at: step.at, bps: step.rate_bps }).collect();
            let steps = RateSteps::new(link.rate_bps(), &changes);
            VaryingRate::Steps(steps.map_err(|(index, problem)| {
                wrong(&format!("rate_steps[{index}]"), problem.into())
            })?)
        } else {
            let trace = DeliveryTrace::new(gaps).map_err(|problem| wrong(key, problem.into()))?;
            VaryingRate::Trace(Opportunities::new(trace))
        };
    if varying.supports(shaper(link.shaper)) {
        return Ok(Some(varying));
    }
    Err(wrong("shaper", unsupported(link.shaper, &varying).into()))
}

/// Returns the reason why a link with this shaper cannot have the rate `varying`.
fn unsupported(shaper: ShaperSpec, varying: &VaryingRate) -> &'static str {
    match (shaper, varying) {
        (ShaperSpec::Line | ShaperSpec::Htb, VaryingRate::Steps(_)) => {
            "`htb` has no rate of zero; use `line`"
        }
        (_, VaryingRate::Trace(_)) => "a delivery trace is a line; use `line`",
        (ShaperSpec::Dummynet, _) => {
            "`dummynet` with a rate that varies is not modelled; use `line` or `htb`"
        }
        (ShaperSpec::Cake, _) => {
            "the rate of `cake` is its bandwidth, which is constant; use `line`, or give the \
             varying rate to the modem (path.modem.rate)"
        }
    }
}

const fn shaper(spec: ShaperSpec) -> Shaper {
    match spec {
        ShaperSpec::Line => Shaper::Line,
        ShaperSpec::Htb => Shaper::Htb,
        ShaperSpec::Dummynet => Shaper::Dummynet,
        ShaperSpec::Cake => Shaper::Own,
    }
}

fn overhead(at: &str, spec: OverheadSpec) -> Result<Overhead, SpecError> {
    let OverheadSpec { bytes, minimum, atm: _, counted } = spec;
    for (name, bytes) in [("bytes", bytes), ("minimum", minimum), ("counted", counted)] {
        if bytes > MOST_OVERHEAD {
            let (found, most) = (bytes.0, MOST_OVERHEAD.0);
            let problem = format!("`{found}` is not between 0 and {most} bytes");
            return Err(SpecError::new(format!("{at}.overhead.{name}"), problem));
        }
    }
    Ok(spec.into())
}

/// Returns the radio of the link at the place `at`, if the link is an 802.11n link.
fn radio(at: &str, link: &LinkSpec) -> Result<Option<RadioConfig>, SpecError> {
    let Some(wifi) = link.wifi else { return Ok(None) };
    let wrong = |key: &str, problem: String| SpecError::new(format!("{at}.{key}"), problem);
    let width = width(wifi.width_mhz).ok_or_else(|| {
        wrong("wifi.width", format!("`{}` is neither 20 nor 40 MHz", wifi.width_mhz))
    })?;
    let rate = HtRate::new(wifi.mcs, width, wifi.short_guard).ok_or_else(|| {
        wrong("wifi.mcs", format!("`{}` is not an index of 802.11n, 0 to 31", wifi.mcs))
    })?;
    let own = rate.bit_rate();
    if let Some(other) = link.rate.filter(|rate| *rate != own) {
        let (other, own) = (other.as_bps(), own.as_bps());
        return Err(wrong("rate_bps", format!("`{other}` is not its radio's {own}")));
    }
    check_bounds(wifi).map_err(|(key, problem)| wrong(&format!("wifi.{key}"), problem))?;
    Ok(Some(RadioConfig {
        rate,
        loss: wifi.loss,
        aggregate_frames: wifi.aggregate as usize,
        aggregate_time: wifi.airtime,
        driver_frames: wifi.driver as usize,
    }))
}

fn check_bounds(wifi: WifiSpec) -> Result<(), (&'static str, String)> {
    if !(0.0..1.0).contains(&wifi.loss) {
        return Err(("loss", format!("`{}` is not from 0 to less than 1", wifi.loss)));
    }
    let airtime_us = wifi.airtime.min(Duration::from_secs(1)).as_micros() as u32;
    for (key, value, least, most) in [
        ("aggregate", wifi.aggregate, 1, 32),
        ("driver", wifi.driver, 1, 10_000),
        ("airtime", airtime_us, 100, 10_000),
    ] {
        if !(least..=most).contains(&value) {
            let unit = if key == "airtime" { " us" } else { " frames" };
            let problem = format!("`{value}{unit}` is not between {least} and {most}{unit}");
            return Err((key, problem));
        }
    }
    Ok(())
}

const fn width(mhz: u32) -> Option<Width> {
    match mhz {
        20 => Some(Width::Mhz20),
        40 => Some(Width::Mhz40),
        _ => None,
    }
}

/// Returns the rate of an MCS index in bits per second, or `None` if the index or the width does
/// not exist.
pub fn wifi_rate(mcs: u8, width_mhz: u32, short_guard: bool) -> Option<u64> {
    let rate = HtRate::new(mcs, width(width_mhz)?, short_guard)?;
    Some(rate.bit_rate().as_bps())
}
