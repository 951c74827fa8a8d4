//! Radios in the network: their drivers, and the delivery of their frames.

use aqmlab_core::{Event, Instant, Log, Packet, Reason};
use aqmlab_node::Departure;
use aqmlab_node::wifi::{Cell, Delivery, Fate, Radio, RadioConfig};
use aqmlab_trial::streams::Stream;

use crate::agenda::{NetworkActor, Slot};
use crate::network::Network;
use crate::observer::Observer;

/// A medium that links share.
pub(crate) struct Medium {
    cell: Cell,
    /// The number of the cell in the trial.
    number: u32,
    slot: Slot<NetworkActor>,
    /// The index of each radio's link.
    links: Vec<usize>,
}

/// The index of a radio's medium, and the index of the radio on the medium.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RadioId {
    medium: usize,
    radio: usize,
}

impl<O: Observer> Network<O> {
    /// Adds a radio for the link added last, on the medium of cell `number`. Creates this medium if
    /// it does not exist.
    pub(crate) fn add_radio(&mut self, number: u32, config: RadioConfig) {
        let link = self.links.len() - 1;
        let found = self.media.iter().position(|medium| medium.number == number);
        let medium = found.unwrap_or_else(|| {
            let slot = self.agenda.register(NetworkActor::Medium(self.media.len() as u32));
            let links = Vec::new();
            self.media.push(Medium { cell: Cell::default(), number, slot, links });
            self.media.len() - 1
        });
        let rng = Stream::Wifi(&self.links[link].name).rng(self.seed);
        let radio = self.media[medium].cell.join(Radio::new(config, rng));
        self.media[medium].links.push(link);
        self.links[link].radio = Some(RadioId { medium, radio });
    }

    /// Moves packets from a link's discipline to its driver while the driver has room, and requests
    /// the next calls of the link and of the medium.
    #[inline(never)]
    pub(crate) fn fill_driver(&mut self, link: usize, id: RadioId) {
        let cell = &mut self.media[id.medium].cell;
        while cell.radio(id.radio).has_room() {
            let Some((packet, sojourn)) = self.links[link].port.pull(self.now) else { break };
            self.observer.departed(link, &packet, Departure { sojourn, done: self.now });
            cell.accept(id.radio, packet, self.now);
        }
        if self.links[link].own {
            self.own.take_drops(&mut self.links[link].port, None);
        }
        let ready = self.links[link].port.ready_after(self.now);
        self.links[link].call_at(ready.unwrap_or(Instant::NEVER), &mut self.agenda);
        self.call_medium(id.medium);
    }

    fn call_medium(&mut self, medium: usize) {
        let Medium { cell, slot, .. } = &self.media[medium];
        match cell.poll_timeout() {
            Some(due) if self.agenda.due(*slot) == due => {}
            Some(due) => self.agenda.set(*slot, due),
            None => self.agenda.clear(*slot),
        }
    }

    /// Begins or ends an exchange that is due, and refills the drivers. When an exchange ends,
    /// forwards or drops the packets that leave the medium.
    pub(crate) fn exchange(&mut self, medium: usize) {
        let mut out = Vec::new();
        let Medium { cell, links, .. } = &mut self.media[medium];
        if let Some(took) = cell.handle_timeout(self.now, &mut out) {
            for &sender in cell.senders() {
                self.links[links[sender]].port.log.busy += took;
            }
        }
        for delivery in out {
            self.leave_medium(medium, delivery);
        }
        for radio in 0..self.media[medium].links.len() {
            self.fill_driver(self.media[medium].links[radio], RadioId { medium, radio });
        }
    }

    fn leave_medium(&mut self, medium: usize, delivery: Delivery) {
        let Delivery { radio, mut packet, fate } = delivery;
        let link = self.media[medium].links[radio];
        if self.links[link].own && packet.hop == 0 {
            self.own.leave(&packet);
        }
        match fate {
            Fate::Delivered => {
                if let Some((line, at)) = self.leave(&mut packet, self.now) {
                    self.put_on_line(line, packet, at);
                }
            }
            Fate::GivenUp => self.give_up(link, &packet),
        }
    }

    fn give_up(&mut self, link: usize, packet: &Packet) {
        self.links[link].port.log.record(self.now, packet, Event::Drop(Reason::Path));
        self.observer.lost(packet, self.now);
    }

    /// Returns the number of packets in the drivers and the receivers of all radios.
    pub(crate) fn on_media(&self) -> usize {
        self.media.iter().map(|medium| medium.cell.len()).sum()
    }

    /// Returns the gauges of a link's discipline and of its driver.
    pub(crate) fn gauges(&self, link: usize, now: Instant) -> Vec<(&'static str, f64)> {
        let Self { links, media, .. } = self;
        let mut gauges = links[link].port.gauges();
        if let Some(id) = links[link].radio {
            let radio = media[id.medium].cell.radio(id.radio);
            gauges.push(("driver_packets", radio.pending() as f64));
            gauges.push(("driver_oldest_ms", radio.oldest(now).as_secs_f64() * 1e3));
        }
        gauges
    }
}
