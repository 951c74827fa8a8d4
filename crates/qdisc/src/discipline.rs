//! The discipline of a port. A FIFO is called directly, without a virtual call.
//!
//! A virtual call and its context take as many instructions as the FIFO itself. Linux calls its
//! classifiers and actions directly for the same reason (Linux 6.2 `include/net/tc_wrapper.h`).

use std::any::Any;
use std::ops::{Deref, DerefMut};

use aqmlab_core::{Cx, Instant, Log, Packet, Rng};

use crate::Qdisc;
use crate::kinds::fifo::Fifo;

/// A discipline of any kind. It dereferences to [`Qdisc`] for the other functions.
pub enum Discipline {
    /// A FIFO.
    Fifo(Fifo),
    /// A discipline of another kind.
    Other(Box<dyn Qdisc>),
}

impl From<Box<dyn Qdisc>> for Discipline {
    fn from(qdisc: Box<dyn Qdisc>) -> Self {
        let any: &dyn Any = &*qdisc;
        match any.downcast_ref::<Fifo>() {
            Some(fifo) => Self::Fifo(fifo.clone()),
            None => Self::Other(qdisc),
        }
    }
}

impl Deref for Discipline {
    type Target = dyn Qdisc;

    fn deref(&self) -> &(dyn Qdisc + 'static) {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Other(qdisc) => &**qdisc,
        }
    }
}

impl DerefMut for Discipline {
    fn deref_mut(&mut self) -> &mut (dyn Qdisc + 'static) {
        match self {
            Self::Fifo(fifo) => fifo,
            Self::Other(qdisc) => &mut **qdisc,
        }
    }
}

// These functions take the members of a context, and build the context only if it is needed.
impl Discipline {
    /// Does what [`Qdisc::enqueue`] does.
    #[expect(clippy::inline_always, reason = "queued packets pass; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn enqueue(&mut self, packet: Packet, now: Instant, rng: &mut Rng, log: &mut impl Log) {
        match self {
            Self::Fifo(fifo) => {
                if let Err(packet) = fifo.append(packet, now) {
                    fifo.overflow(packet, &mut Cx { now, rng, log });
                }
            }
            Self::Other(qdisc) => qdisc.enqueue(packet, &mut Cx { now, rng, log }),
        }
    }

    /// Does what [`Qdisc::dequeue`] does.
    #[expect(clippy::inline_always, reason = "queued packets pass; a call costs 1 % of a run")]
    #[inline(always)]
    pub fn dequeue(&mut self, now: Instant, rng: &mut Rng, log: &mut impl Log) -> Option<Packet> {
        match self {
            Self::Fifo(fifo) => fifo.take(),
            Self::Other(qdisc) => qdisc.dequeue(&mut Cx { now, rng, log }),
        }
    }

    /// Does what [`Qdisc::pass`] does.
    #[expect(clippy::inline_always, reason = "unqueued packets pass; a call costs 0.5 % of a run")]
    #[inline(always)]
    pub fn pass(
        &mut self,
        packet: Packet,
        now: Instant,
        rng: &mut Rng,
        log: &mut impl Log,
    ) -> Option<Packet> {
        match self {
            Self::Fifo(fifo) => match fifo.bypass(packet, now) {
                Ok(packet) => Some(packet),
                Err(packet) => fifo.pass(packet, &mut Cx { now, rng, log }),
            },
            Self::Other(qdisc) => qdisc.pass(packet, &mut Cx { now, rng, log }),
        }
    }
}

#[cfg(test)]
mod tests {
    use aqmlab_core::{Args, Bytes, Event, Value};

    use super::*;
    use crate::kinds;

    /// The packets that were dropped.
    #[derive(Default)]
    struct Drops(Vec<u64>);

    impl Log for Drops {
        fn record(&mut self, _now: Instant, packet: &Packet, event: Event) {
            assert!(matches!(event, Event::Drop(_)), "a FIFO does not mark");
            self.0.push(packet.id);
        }
    }

    #[test]
    fn direct_calls_do_what_virtual_calls_do() {
        for kind in kinds::fifo::KINDS {
            let limit = match kind.params[0].default {
                Value::Bytes(_) => Value::Bytes(Bytes(4_000)),
                _ => Value::Count(4),
            };
            let args = Args::defaults(kind.params).with("limit", limit);
            let mut direct = Discipline::from((kind.build)(&args));
            assert!(matches!(direct, Discipline::Fifo(_)), "{}", kind.name);
            let mut by_table = (kind.build)(&args);
            let (mut rng, mut unused) = (Rng::stream(1, kind.name), Rng::stream(1, "unused"));
            let (mut some, mut others) = (Drops::default(), Drops::default());
            for id in 0..2_000 {
                let now = Instant::from_millis(id);
                let packet = Packet::plain(id, 0, 40 + rng.below(1_461) as u32);
                let mut cx = Cx { now, rng: &mut unused.clone(), log: &mut others };
                let (one, other) = match rng.below(4) {
                    0 => (direct.pass(packet.clone(), now, &mut unused, &mut some), {
                        by_table.enqueue(packet, &mut cx);
                        by_table.dequeue(&mut cx)
                    }),
                    1 => (direct.dequeue(now, &mut unused, &mut some), by_table.dequeue(&mut cx)),
                    _ => {
                        direct.enqueue(packet.clone(), now, &mut unused, &mut some);
                        by_table.enqueue(packet, &mut cx);
                        (None, None)
                    }
                };
                assert_eq!(one, other, "{}: call {id}", kind.name);
                assert_eq!(direct.backlog(), by_table.backlog(), "{}: call {id}", kind.name);
            }
            assert_eq!(some.0, others.0, "{}", kind.name);
            assert!(some.0.len() > 100, "{}: {} drops", kind.name, some.0.len());
        }
    }
}
