//! Routes: the links and lines that the packets of a flow take in one direction, and the loss and
//! jitter after the last link.

use aqmlab_core::hint::rare;
use aqmlab_core::{Duration, Instant, Packet};
use aqmlab_trial::Impairments;

use crate::observer::Observer;

/// The plan of a route whose lines may not exist yet.
pub(crate) struct RoutePlan {
    pub(crate) links: Vec<usize>,
    pub(crate) delay: Duration,
    /// The largest extra delay after the last link.
    pub(crate) jitter: Duration,
    pub(crate) reorder: bool,
    /// The loss and jitter after the last link, if there are any.
    pub(crate) impairments: Option<Impairments>,
}

/// The route of one flow in one direction.
pub(crate) struct Route {
    /// The first link, if there is one.
    first: Option<u32>,
    /// The line from the first link to the host, if the route has one link, as most routes do.
    direct: Option<u32>,
    /// Whether packets may be lost or delayed after the last link.
    is_impaired: bool,
    hops: Box<Hops>,
}

/// The part of a route that packets with a direct line and no impairments do not need.
struct Hops {
    /// The indices of the delay lines from each link to the next link, and from the last link to
    /// the host. A route without links has only the line to the host.
    lines: Box<[u32]>,
    impairments: Option<Impairments>,
    /// The number of packets lost after the last link.
    lost: u64,
}

impl Route {
    /// Returns the route over `lines`, which are the lines from each link to the next link, and the
    /// line to the host. `first` is the first link, if there is one.
    pub(crate) fn new(
        first: Option<usize>,
        lines: Vec<u32>,
        impairments: Option<Impairments>,
    ) -> Self {
        Self {
            first: first.map(|link| link as u32),
            direct: (first.is_some() && lines.len() == 1).then(|| lines[0]),
            is_impaired: impairments.is_some(),
            hops: Box::new(Hops { lines: lines.into(), impairments, lost: 0 }),
        }
    }

    /// Returns the first link, if there is one.
    pub(crate) fn first_link(&self) -> Option<u32> {
        self.first
    }

    /// Returns the number of packets lost after the last link.
    pub(crate) fn lost(&self) -> u64 {
        self.hops.lost
    }

    /// Advances a packet that leaves its link at `at` by one hop. Returns the index of its next
    /// line, and `at` plus its jitter after the last link. Returns `None` if the packet is lost.
    #[inline]
    pub(crate) fn leave(
        &mut self,
        packet: &mut Packet,
        at: Instant,
        observer: &mut impl Observer,
    ) -> Option<(u32, Instant)> {
        if let Some(line) = self.direct {
            packet.hop = 1;
            if !self.is_impaired {
                return Some((line, at));
            }
            let jitter = self.hops.draw(packet, at, observer)?;
            return Some((line, at + jitter));
        }
        self.hops.leave(packet, at, observer)
    }
}

impl Hops {
    /// Does what [`Route::leave`] does, for any route.
    #[inline(never)]
    fn leave(
        &mut self,
        packet: &mut Packet,
        at: Instant,
        observer: &mut impl Observer,
    ) -> Option<(u32, Instant)> {
        let hop = usize::from(packet.hop);
        let line = self.lines[hop];
        packet.hop += 1;
        if hop + 1 < self.lines.len() || self.impairments.is_none() {
            return Some((line, at));
        }
        let jitter = self.draw(packet, at, observer)?;
        Some((line, at + jitter))
    }

    /// Draws the jitter of a packet that leaves the last link at `at`. Returns `None` if the packet
    /// is lost.
    #[expect(clippy::inline_always, reason = "most packets pass; a call costs 0.6 % of a run")]
    #[inline(always)]
    fn draw(
        &mut self,
        packet: &Packet,
        at: Instant,
        observer: &mut impl Observer,
    ) -> Option<Duration> {
        let Some(impairments) = &mut self.impairments else { return Some(Duration::ZERO) };
        let jitter = impairments.draw();
        if jitter.is_none() {
            rare();
            self.lost += 1;
            observer.lost(packet, at);
        }
        jitter
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::Direction;

    use super::*;
    use crate::observer::NoObserver;

    /// Returns the impairments of the home's packets in a trial whose routes have these members.
    fn impairments(route: &str) -> Option<Impairments> {
        let route = format!(r#"{{"links": [0], "delay_ns": 1 {route}}}"#);
        let json = format!(
            r#"{{"seed": 1, "duration_ns": 1000000000, "links": [
            {{"name": "up", "rate_bps": 1000000, "qdisc": {{"kind": "pfifo"}}}}],
            "apps": [{{"name": "file", "app": {{"kind": "bulk"}}, "start_ns": 0,
            "up": {route}, "down": {{"links": [], "delay_ns": 1}}}}]}}"#
        );
        let spec = aqmlab_trial::parse(&json).expect("it is a trial");
        let impairments = Impairments::new(&spec, 0, Direction::Up);
        (!impairments.is_none()).then_some(impairments)
    }

    #[test]
    fn a_route_with_one_link_draws_what_any_route_draws() {
        for route in ["", r#", "loss": 0.3"#, r#", "loss": 0.3, "jitter_ns": 1000"#] {
            let [mut short, mut long] =
                [(); 2].map(|()| Route::new(Some(0), vec![7], impairments(route)));
            for id in 0..100 {
                let (mut one, mut other) = (Packet::plain(id, 0, 100), Packet::plain(id, 0, 100));
                let at = Instant::from_millis(id);
                let left = short.leave(&mut one, at, &mut NoObserver);
                assert_eq!(left, long.hops.leave(&mut other, at, &mut NoObserver), "packet {id}");
                assert_eq!(one, other, "packet {id}");
            }
            assert_eq!(short.lost(), long.lost());
            assert_eq!(short.lost() > 0, route.contains("loss"), "{route}");
        }
    }
}
