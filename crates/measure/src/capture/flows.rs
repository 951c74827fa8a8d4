//! The flows of two captures, and the assignment of each packet to a flow and a direction.

use std::collections::{BTreeMap, VecDeque};

use aqmlab_core::{Direction, Instant};

use super::decode::{Translation, Tuple};
use super::flow::{Event, FlowMeter};
use super::matching::Settled;
use super::options::Options;
use super::sides::Sides;

/// The maximum number of events of one flow that are held until its direction is known.
const HELD_OF_ONE: usize = 256;
/// The maximum number of events of all flows that are held until their directions are known.
const HELD: usize = 65_536;
/// The maximum number of packets held because no packet of their flow was captured at both taps
/// yet. If there are more, the oldest packets are discarded.
const EARLY: usize = 4_096;

/// A flow, before and after its direction is known.
enum Flow {
    Undecided { tuple: Tuple, differences: [Option<i64>; 2], held: Vec<Event> },
    Decided { meter: Box<FlowMeter>, forward: Direction },
}

/// All flows with packets at both taps.
#[derive(Default)]
pub(super) struct Flows {
    all: Vec<Flow>,
    /// The flows by their tuple at tap 0.
    known: BTreeMap<Tuple, usize>,
    /// The flows by their tuple at tap 1, if an address translator lies between the taps. Each
    /// entry holds the flow, and whether the two canonical tuples have opposite directions.
    aliases: BTreeMap<Tuple, (usize, bool)>,
    sides: Sides,
    held: usize,
    /// Packets of flows without a packet at both taps so far. They count if a later packet of the
    /// flow is captured at both taps.
    early: VecDeque<Settled>,
    /// The number of matched packets of flows beyond [`Options::max_flows`]; a packet counts once
    /// at each tap.
    pub(super) left_out: u64,
}

impl Flows {
    /// Processes a packet after the search for its match. `begun` holds, for each capture, the time
    /// from which its times are counted.
    pub(super) fn take(&mut self, packet: &Settled, begun: [u64; 2], options: &Options) {
        let flows = self.all.len();
        let Some((place, forward)) = self.find(packet, options) else {
            self.hold(packet);
            return;
        };
        if self.all.len() > flows {
            for earlier in self.earlier(packet) {
                self.take(&earlier, begun, options);
            }
        }
        let since = |tap: usize, at: u64| Instant::from_nanos(at.saturating_sub(begun[tap]));
        let event = Event {
            tap: packet.tap,
            forward,
            at: since(packet.tap, packet.at),
            other: packet.mate.map(|(_, at)| since(1 - packet.tap, at)),
            ip_len: packet.ip_len,
        };
        match &mut self.all[place] {
            Flow::Decided { meter, forward } => {
                meter.take(&event, way(event.forward, *forward), options);
            }
            Flow::Undecided { tuple, differences, held } => {
                if let Some(difference) = packet.difference() {
                    differences[usize::from(event.forward)].get_or_insert(difference);
                }
                held.push(event);
                self.held += 1;
                let decided = decide(&self.sides, tuple, *differences, options);
                if decided.is_some() || held.len() >= HELD_OF_ONE || self.held >= HELD {
                    self.decide_direction(place, decided, options);
                }
            }
        }
    }

    /// Decides the direction of the remaining flows. Returns the meters of all flows in order of
    /// appearance.
    pub(super) fn finish(mut self, options: &Options) -> Vec<FlowMeter> {
        for place in 0..self.all.len() {
            if let Flow::Undecided { tuple, differences, .. } = &self.all[place] {
                let decided = decide(&self.sides, tuple, *differences, options);
                self.decide_direction(place, decided, options);
            }
        }
        let meter = |flow| match flow {
            Flow::Decided { meter, .. } => Some(*meter),
            Flow::Undecided { .. } => None,
        };
        self.all.into_iter().filter_map(meter).collect()
    }

    /// Holds a packet that was captured at only one tap. Other packets are not held.
    fn hold(&mut self, packet: &Settled) {
        if packet.mate.is_some() {
            return;
        }
        if self.early.len() == EARLY {
            self.early.pop_front();
        }
        self.early.push_back(*packet);
    }

    /// Removes and returns the held packets of the flow that begins with `packet`.
    fn earlier(&mut self, packet: &Settled) -> VecDeque<Settled> {
        let canonical = |tuple: Tuple| tuple.canonical().0;
        let here = canonical(packet.tuple);
        let there = packet.mate.map_or(here, |(tuple, _)| canonical(tuple));
        let of_flow = |held: &Settled| [here, there].contains(&canonical(held.tuple));
        let (found, kept) = std::mem::take(&mut self.early).into_iter().partition(of_flow);
        self.early = kept;
        found
    }

    /// Returns the index of a packet's flow, and whether the packet has the direction of the flow's
    /// tuple. A packet that both taps captured begins a new flow, if its flow is unknown. Returns
    /// `None` if the flow has not begun or exceeds [`Options::max_flows`].
    fn find(&mut self, packet: &Settled, options: &Options) -> Option<(usize, bool)> {
        let here = packet.tuple.canonical();
        let (at_first, at_second) = match (packet.mate, packet.tap) {
            (Some((there, _)), 0) => (here, there.canonical()),
            (Some((there, _)), _) => (there.canonical(), here),
            (None, 1) if options.translation != Translation::None => {
                let &(place, opposite) = self.aliases.get(&here.0)?;
                return Some((place, here.1 == opposite));
            }
            // A flow begins with a packet that both taps captured. Earlier packets are held.
            (None, _) => return self.known.get(&here.0).map(|&place| (place, !here.1)),
        };
        let place = match self.known.get(&at_first.0).copied() {
            Some(place) => place,
            None => self.begin(at_first.0, options)?,
        };
        if options.translation != Translation::None {
            self.aliases.insert(at_second.0, (place, at_first.1 != at_second.1));
        }
        Some((place, !at_first.1))
    }

    fn begin(&mut self, tuple: Tuple, options: &Options) -> Option<usize> {
        let place = self.all.len();
        if place >= options.max_flows {
            self.left_out += 1;
            return None;
        }
        self.known.insert(tuple, place);
        self.all.push(Flow::Undecided { tuple, differences: [None; 2], held: Vec::new() });
        Some(place)
    }

    /// Decides the direction of a flow, and measures its held events. If `decided` is `None`, the
    /// time differences decide.
    fn decide_direction(&mut self, place: usize, decided: Option<bool>, options: &Options) {
        let Flow::Undecided { tuple, differences, held } = &mut self.all[place] else { return };
        let [backward, ahead] = *differences;
        let up = decided.unwrap_or_else(|| match (ahead, backward) {
            (Some(difference), _) => self.sides.by_difference(difference),
            (None, Some(difference)) => !self.sides.by_difference(difference),
            (None, None) => true,
        });
        let (tuple, up_difference, down_difference) =
            if up { (*tuple, ahead, backward) } else { (tuple.reversed(), backward, ahead) };
        self.sides.learn(&tuple, up_difference, down_difference);
        let forward = if up { Direction::Up } else { Direction::Down };
        let mut meter = Box::new(FlowMeter::new(tuple, options));
        self.held -= held.len();
        for event in std::mem::take(held) {
            meter.take(&event, way(event.forward, forward), options);
        }
        self.all[place] = Flow::Decided { meter, forward };
    }
}

/// Returns whether packets in the tuple's direction go from tap 0 to tap 1, if that is certain.
fn decide(
    sides: &Sides,
    tuple: &Tuple,
    differences: [Option<i64>; 2],
    options: &Options,
) -> Option<bool> {
    match differences {
        [Some(backward), Some(ahead)] if backward != ahead => Some(ahead > backward),
        // If both taps use one clock, a packet is earlier at the tap of its sender. Other flows do
        // not matter.
        [_, Some(ahead)] if options.synchronised && ahead != 0 => Some(ahead > 0),
        [Some(backward), None] if options.synchronised && backward != 0 => Some(backward < 0),
        _ => sides.by_hosts(tuple),
    }
}

fn way(forward: bool, direction: Direction) -> Direction {
    if forward { direction } else { direction.reverse() }
}
