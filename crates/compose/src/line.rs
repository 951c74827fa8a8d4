//! The links of the gateway and of the modem.

use aqmlab_core::{BitRate, Bytes, Direction};
use aqmlab_trial::SpecError;
use aqmlab_trial::scenario::{OVERHEADS, overhead_called};
use aqmlab_trial::spec::{KindSpec, LinkSpec, OverheadSpec, QdiscKind, ShaperSpec};

use crate::scenario::{Choice, Modem, Overhead, Path, Plain};
use crate::{choice, quantity};

/// The range of rates that a link can have, in bit/s.
const RATES: std::ops::RangeInclusive<u64> = 1_000..=100_000_000_000;

/// Returns the links `up` and `down` of the gateway, then the links `modem-up` and `modem-down` if
/// there is a modem.
pub(crate) fn links(path: &Path) -> Result<Vec<LinkSpec>, SpecError> {
    let up = path.modem.as_ref().map(|modem| hop(modem, Direction::Up)).transpose()?;
    let down = path.modem.as_ref().map(|modem| hop(modem, Direction::Down)).transpose()?;
    let mut links = vec![
        gateway(path, Direction::Up, up.as_ref())?,
        gateway(path, Direction::Down, down.as_ref())?,
    ];
    links.extend(up);
    links.extend(down);
    Ok(links)
}

/// Returns the gateway's link in one direction. `line` is the modem's link in this direction, if
/// there is a modem.
fn gateway(
    path: &Path,
    direction: Direction,
    line: Option<&LinkSpec>,
) -> Result<LinkSpec, SpecError> {
    let way = if direction == Direction::Up { &path.up } else { &path.down };
    let at = |key: &str| format!("path.{}.{key}", direction.name());
    let rate = of_direction(&at("rate"), direction, way.rate.as_deref(), path.rate.as_deref())?;
    let shaper = way.shaper.as_ref().or(path.shaper.as_ref());
    Ok(LinkSpec {
        name: direction.name().to_owned(),
        rate: Some(rate_or_share(&at("rate"), &rate, line)?),
        rate_steps: Vec::new(),
        opportunities_ms: Vec::new(),
        qdisc: qdisc(&at("qdisc"), way.qdisc.as_ref().or(path.qdisc.as_ref()))?,
        shaper: shaper.map_or(Ok(ShaperSpec::Line), |name| shaper_called(&at("shaper"), name))?,
        overhead: overhead(&at("overhead"), way.overhead.as_ref().or(path.overhead.as_ref()))?,
        pipe_delay: aqmlab_core::Duration::ZERO,
        wifi: None,
        own: false,
    })
}

/// Returns the modem's link in one direction.
fn hop(modem: &Modem, direction: Direction) -> Result<LinkSpec, SpecError> {
    let hop = if direction == Direction::Up { &modem.up } else { &modem.down };
    let at = |key: &str| format!("path.modem.{}.{key}", direction.name());
    let rate = of_direction(&at("rate"), direction, hop.rate.as_deref(), modem.rate.as_deref())?;
    Ok(LinkSpec {
        name: format!("modem-{}", direction.name()),
        rate: Some(link_rate(&at("rate"), &rate)?),
        rate_steps: Vec::new(),
        opportunities_ms: Vec::new(),
        qdisc: qdisc(&at("qdisc"), hop.qdisc.as_ref().or(modem.qdisc.as_ref()))?,
        shaper: ShaperSpec::Line,
        overhead: overhead(&at("overhead"), hop.overhead.as_ref().or(modem.overhead.as_ref()))?,
        pipe_delay: aqmlab_core::Duration::ZERO,
        wifi: None,
        own: false,
    })
}

/// Returns the text of a direction's rate: the text `own`, or the direction's part of the pair
/// `both`.
fn of_direction(
    at: &str,
    direction: Direction,
    own: Option<&str>,
    both: Option<&str>,
) -> Result<String, SpecError> {
    if let Some(own) = own {
        return Ok(own.to_owned());
    }
    let both = both.ok_or_else(|| {
        SpecError::new(at, "is missing; add rate = \"12/1 Mbit/s\", down before up")
    })?;
    let (down, up) = quantity::pair(both);
    Ok(if direction == Direction::Up { up } else { down })
}

fn rate_or_share(at: &str, text: &str, line: Option<&LinkSpec>) -> Result<BitRate, SpecError> {
    if !text.trim().ends_with('%') {
        return link_rate(at, text);
    }
    let share = quantity::number(at, &Plain::Text(text.to_owned()))?;
    if !(share > 0.0 && share <= 1.0) {
        return Err(SpecError::new(at, format!("`{text}` is not between 0 and 100 %")));
    }
    let line = line.ok_or_else(|| {
        SpecError::new(at, format!("`{text}` is a share of the modem's rate; there is no modem"))
    })?;
    let bps = (share * line.rate_bps() as f64).round_ties_even() as u64;
    BitRate::new(bps.max(1)).ok_or_else(|| SpecError::new(at, "a rate of zero"))
}

fn link_rate(at: &str, text: &str) -> Result<BitRate, SpecError> {
    let rate = quantity::rate(at, &Plain::Text(text.to_owned()))?;
    if RATES.contains(&rate.as_bps()) {
        Ok(rate)
    } else {
        Err(SpecError::new(at, format!("`{text}` is not between 1 kbit/s and 100 Gbit/s")))
    }
}

fn qdisc(at: &str, choice: Option<&Choice>) -> Result<KindSpec<QdiscKind>, SpecError> {
    match choice {
        Some(choice) => choice::qdisc(at, choice),
        None => choice::of_kind(at, "pfifo", &[]),
    }
}

fn shaper_called(at: &str, name: &str) -> Result<ShaperSpec, SpecError> {
    match name {
        "line" => Ok(ShaperSpec::Line),
        "htb" => Ok(ShaperSpec::Htb),
        _ => Err(SpecError::new(at, format!("`{name}` is not `line` or `htb`"))),
    }
}

fn overhead(at: &str, said: Option<&Overhead>) -> Result<OverheadSpec, SpecError> {
    Ok(match said {
        None => OverheadSpec::default(),
        Some(Overhead::Table(table)) => OverheadSpec {
            bytes: Bytes(table.bytes.into()),
            minimum: Bytes(table.minimum.into()),
            atm: table.atm,
            counted: Bytes(table.counted.into()),
        },
        Some(Overhead::Name(name)) => overhead_called(name).ok_or_else(|| {
            let names: Vec<_> = OVERHEADS.iter().map(|(name, _)| *name).collect();
            SpecError::new(at, format!("`{name}` is not one of {}", names.join(", ")))
        })?,
    })
}
