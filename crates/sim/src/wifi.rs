//! Radios in the network: what feeds their drivers, and what becomes of what they send.

use aqmlab_core::{BitRate, Duration, Event, Instant, Log, Packet, Reason, Rng};
use aqmlab_node::Departure;
use aqmlab_node::wifi::{Cell, Delivery, Fate, HtRate, Radio, RadioConfig, Width};

use crate::agenda::Slot;
use crate::error::SpecError;
use crate::network::{Actor, Network};
use crate::observer::Observer;
use crate::spec::{LinkSpec, WifiSpec};

/// A medium that links share.
pub(crate) struct Medium {
    cell: Cell,
    /// Which medium of the trial it is.
    number: u32,
    slot: Slot,
    /// The link of each radio.
    links: Vec<usize>,
}

/// Where a link's radio is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    medium: usize,
    radio: usize,
}

/// What a radio of a trial is like, or what is wrong with it; `at` is its link.
pub(crate) fn config(at: &str, link: &LinkSpec) -> Result<Option<RadioConfig>, SpecError> {
    let Some(wifi) = link.wifi else { return Ok(None) };
    let wrong = |key: &str, problem: String| SpecError::new(format!("{at}.{key}"), problem);
    let width = match wifi.width_mhz {
        20 => Width::Mhz20,
        40 => Width::Mhz40,
        other => return Err(wrong("wifi.width", format!("`{other}` is neither 20 nor 40 MHz"))),
    };
    let rate = HtRate::new(wifi.mcs, width, wifi.short_guard).ok_or_else(|| {
        wrong("wifi.mcs", format!("`{}` is not an index of 802.11n, 0 to 31", wifi.mcs))
    })?;
    let own_bps = rate.bit_rate().as_bps();
    if link.rate_bps > 0 && link.rate_bps != own_bps {
        return Err(wrong("rate_bps", format!("`{}` is not its radio's {own_bps}", link.rate_bps)));
    }
    bounds(wifi).map_err(|(key, problem)| wrong(&format!("wifi.{key}"), problem))?;
    Ok(Some(RadioConfig {
        rate,
        loss: wifi.loss,
        aggregate_frames: wifi.aggregate as usize,
        aggregate_time: Duration::from_nanos(wifi.airtime_ns),
        driver_frames: wifi.driver as usize,
    }))
}

fn bounds(wifi: WifiSpec) -> Result<(), (&'static str, String)> {
    if !(0.0..1.0).contains(&wifi.loss) {
        return Err(("loss", format!("`{}` is not from 0 to less than 1", wifi.loss)));
    }
    for (key, value, least, most) in [
        ("aggregate", wifi.aggregate, 1, 32),
        ("driver", wifi.driver, 1, 10_000),
        ("airtime", (wifi.airtime_ns / 1_000).min(1 << 20) as u32, 100, 10_000),
    ] {
        if !(least..=most).contains(&value) {
            let unit = if key == "airtime" { " us" } else { " frames" };
            let problem = format!("`{value}{unit}` is not between {least} and {most}{unit}");
            return Err((key, problem));
        }
    }
    Ok(())
}

/// Bits per second of an index of modulation and coding, if there are such an index and width.
pub fn rate_of(mcs: u8, width_mhz: u32, short_guard: bool) -> Option<u64> {
    let width = match width_mhz {
        20 => Width::Mhz20,
        40 => Width::Mhz40,
        _ => return None,
    };
    HtRate::new(mcs, width, short_guard).map(|rate| rate.bit_rate().as_bps())
}

/// The rate that the discipline of a link is told.
pub(crate) fn rate(at: &str, link: &LinkSpec) -> Result<Option<BitRate>, SpecError> {
    Ok(config(at, link)?.map(|config| config.rate.bit_rate()))
}

impl<O: Observer> Network<O> {
    /// Gives the last link a radio, on the medium of that number.
    pub(crate) fn add_radio(&mut self, number: u32, config: RadioConfig) {
        let link = self.links.len() - 1;
        let found = self.media.iter().position(|medium| medium.number == number);
        let medium = found.unwrap_or_else(|| {
            let slot = self.enrol(Actor::Medium(self.media.len()));
            let links = Vec::new();
            self.media.push(Medium { cell: Cell::default(), number, slot, links });
            self.media.len() - 1
        });
        let rng = Rng::stream(self.seed, &format!("wifi.{}", self.links[link].name));
        let radio = self.media[medium].cell.join(Radio::new(config, rng));
        self.media[medium].links.push(link);
        self.links[link].radio = Some(Place { medium, radio });
    }

    /// Moves packets from a link's discipline to its driver while there is room.
    #[inline(never)]
    pub(crate) fn feed(&mut self, link: usize, place: Place) {
        let cell = &mut self.media[place.medium].cell;
        while cell.radio(place.radio).has_room() {
            let Some((packet, sojourn)) = self.links[link].port.pull(self.now) else { break };
            self.observer.departed(link, &packet, Departure { sojourn, done: self.now });
            cell.accept(place.radio, packet, self.now);
        }
        self.call_medium(place.medium);
    }

    fn call_medium(&mut self, medium: usize) {
        let Medium { cell, slot, .. } = &self.media[medium];
        match cell.poll_timeout() {
            Some(due) if self.agenda.due(*slot) == due => {}
            Some(due) => self.agenda.set(*slot, due),
            None => self.agenda.clear(*slot),
        }
    }

    /// Begins or ends an exchange that is due, passes on what has arrived and lets the senders'
    /// disciplines go on.
    pub(crate) fn exchange(&mut self, medium: usize) {
        let mut out = Vec::new();
        let Medium { cell, links, .. } = &mut self.media[medium];
        if let Some(took) = cell.handle_timeout(self.now, &mut out) {
            for &sender in cell.senders() {
                self.links[links[sender]].port.log.busy += took;
            }
        }
        for delivery in out {
            self.leave_air(medium, delivery);
        }
        for radio in 0..self.media[medium].links.len() {
            self.feed(self.media[medium].links[radio], Place { medium, radio });
        }
    }

    fn leave_air(&mut self, medium: usize, delivery: Delivery) {
        let Delivery { radio, mut packet, fate } = delivery;
        let link = self.media[medium].links[radio];
        if self.links[link].own && packet.hop == 0 {
            self.own.leave(&packet);
        }
        match fate {
            Fate::Delivered => {
                if let Some(line) = self.leave(&mut packet, self.now) {
                    self.launch(line, Some(packet), self.now);
                }
            }
            Fate::GivenUp => self.give_up(link, &packet),
        }
    }

    fn give_up(&mut self, link: usize, packet: &Packet) {
        self.links[link].port.log.record(self.now, packet, Event::Drop(Reason::Path));
        self.observer.lost(packet, self.now);
    }

    /// Packets in drivers and on the air.
    pub(crate) fn on_media(&self) -> usize {
        self.media.iter().map(|medium| medium.cell.len()).sum()
    }

    /// Numbers that a link shows of its discipline and of its driver.
    pub(crate) fn gauges(&self, link: usize, now: Instant) -> Vec<(&'static str, f64)> {
        let Self { links, media, .. } = self;
        let mut gauges = links[link].port.gauges();
        if let Some(place) = links[link].radio {
            let radio = media[place.medium].cell.radio(place.radio);
            gauges.push(("driver_packets", radio.pending() as f64));
            gauges.push(("driver_oldest_ms", radio.oldest(now).as_secs_f64() * 1e3));
        }
        gauges
    }
}
