//! Naive transcriptions of CoDel's three sources. They are the pseudo-code of RFC 8289 §5 in
//! floating point, the law of Linux in 32-bit ticks, and the law of FreeBSD in microseconds.
//!
//! The transcriptions share no code with the crate and are not optimised.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its part of the oracles")]

use std::collections::VecDeque;

/// A packet in an oracle.
#[derive(Clone, Copy)]
pub struct Item {
    pub id: u64,
    pub len: u64,
    pub capable: bool,
    pub arrived: u64,
}

/// The packets that an oracle has dropped or marked so far.
#[derive(Default)]
pub struct Fates {
    pub dropped: Vec<u64>,
    pub marked: Vec<u64>,
}

/// The context of a law: its queue, the bytes in other queues of the link, and the packets dropped
/// and marked so far.
pub struct Line<'a> {
    pub queue: &'a mut VecDeque<Item>,
    pub others: u64,
    pub fates: &'a mut Fates,
}

impl Line<'_> {
    fn own(&self) -> u64 {
        self.queue.iter().map(|item| item.len).sum()
    }

    fn all(&self) -> u64 {
        self.own() + self.others
    }
}

/// An implementation of CoDel, and the notifications that it gets from the disciplines around it.
pub trait Law {
    /// The maximum number of packets that Linux drops from a flow on overflow.
    const BATCH: usize = 64;

    fn new(ecn: bool) -> Self;
    fn dequeue(&mut self, line: Line<'_>, now_ns: u64) -> Option<Item>;
    fn on_offer(&mut self, _len: u64) {}
    fn on_wake(&mut self) {}
    fn on_overflow(&mut self, _dropped: u32) {}
}

/// RFC 8289 §5.2 to §5.6, with times in seconds.
#[derive(Default)]
pub struct Rfc {
    ecn: bool,
    first_above_time: f64,
    drop_next: f64,
    count: i64,
    lastcount: i64,
    dropping: bool,
}

const TARGET: f64 = 0.005;
const INTERVAL: f64 = 0.1;

impl Rfc {
    fn dodequeue(&mut self, line: &mut Line<'_>, now: f64) -> (Option<Item>, bool) {
        let Some(item) = line.queue.pop_front() else {
            self.first_above_time = 0.0;
            return (None, false);
        };
        let bytes = line.all();
        let sojourn = now - item.arrived as f64 / 1e9;
        let mut ok_to_drop = false;
        if sojourn < TARGET || bytes <= 1_514 {
            self.first_above_time = 0.0;
        } else if self.first_above_time == 0.0 {
            self.first_above_time = now + INTERVAL;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(item), ok_to_drop)
    }

    fn control_law(time: f64, count: i64) -> f64 {
        time + INTERVAL / (count as f64).sqrt()
    }
}

impl Law for Rfc {
    fn new(ecn: bool) -> Self {
        Self { ecn, ..Self::default() }
    }

    fn dequeue(&mut self, mut line: Line<'_>, now_ns: u64) -> Option<Item> {
        let now = now_ns as f64 / 1e9;
        let (mut item, mut ok_to_drop) = self.dodequeue(&mut line, now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                let late = item.expect("ok_to_drop implies a packet");
                self.count += 1;
                if self.ecn && late.capable {
                    line.fates.marked.push(late.id);
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                    return item;
                }
                line.fates.dropped.push(late.id);
                (item, ok_to_drop) = self.dodequeue(&mut line, now);
                if ok_to_drop {
                    self.drop_next = Self::control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let late = item.expect("ok_to_drop implies a packet");
            if self.ecn && late.capable {
                line.fates.marked.push(late.id);
            } else {
                line.fates.dropped.push(late.id);
                (item, _) = self.dodequeue(&mut line, now);
            }
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = 1;
            if delta > 1 && now - self.drop_next < 16.0 * INTERVAL {
                self.count = delta;
            }
            self.drop_next = Self::control_law(now, self.count);
            self.lastcount = self.count;
        }
        item
    }
}

/// Linux 6.1: ticks of 1024 ns in 32 bits, signed comparisons, and a reciprocal root in 16 bits.
#[derive(Default)]
pub struct Linux {
    ecn: bool,
    count: u32,
    lastcount: u32,
    dropping: bool,
    rec_inv_sqrt: u16,
    first_above_time: u32,
    drop_next: u32,
}

/// The target of 5 ms, in ticks.
const LINUX_TARGET: u32 = 4_882;
/// The interval of 100 ms, in ticks.
const LINUX_INTERVAL: u32 = 97_656;

fn after(a: u32, b: u32) -> bool {
    a == b || strictly_after(a, b)
}

fn strictly_after(a: u32, b: u32) -> bool {
    b.wrapping_sub(a) > i32::MAX as u32
}

impl Linux {
    /// Computes `y(3 − count·y²)/2` by long arithmetic, truncated to 64 bits as in the kernel's
    /// registers. After an overflow of the queue, `count` may be so large for `y` that the bracket
    /// is negative.
    fn newton(&mut self) {
        const REGISTER: i128 = 1 << 64;
        let y = i128::from(self.rec_inv_sqrt) * 65_536;
        let square = y * y / (1 << 32);
        let bracket = (3 * (1 << 32) - i128::from(self.count) * square).rem_euclid(REGISTER);
        let product = (bracket / 4 * y).rem_euclid(REGISTER) / (1 << 31);
        self.rec_inv_sqrt = (product / 65_536 % 65_536) as u16;
    }

    fn law(&self, t: u32) -> u32 {
        t.wrapping_add(((u64::from(LINUX_INTERVAL) * u64::from(self.rec_inv_sqrt)) >> 16) as u32)
    }

    fn take(&mut self, line: &mut Line<'_>, now: u32) -> (Option<Item>, bool) {
        let Some(item) = line.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let backlog = line.all();
        let ldelay = now.wrapping_sub((item.arrived / 1_024) as u32);
        if ldelay < LINUX_TARGET || backlog <= 1_514 {
            self.first_above_time = 0;
            return (Some(item), false);
        }
        if self.first_above_time == 0 {
            self.first_above_time = now.wrapping_add(LINUX_INTERVAL);
            return (Some(item), false);
        }
        (Some(item), strictly_after(now, self.first_above_time))
    }

    fn mark(&self, line: &mut Line<'_>, item: Item) -> bool {
        let marks = self.ecn && item.capable;
        if marks {
            line.fates.marked.push(item.id);
        }
        marks
    }
}

impl Law for Linux {
    fn new(ecn: bool) -> Self {
        Self { ecn, ..Self::default() }
    }

    fn on_overflow(&mut self, dropped: u32) {
        self.count = self.count.wrapping_add(dropped);
    }

    fn dequeue(&mut self, mut line: Line<'_>, now_ns: u64) -> Option<Item> {
        let now = (now_ns / 1_024) as u32;
        let (mut skb, mut drop) = self.take(&mut line, now);
        if skb.is_none() {
            self.dropping = false;
            return None;
        }
        if self.dropping {
            if !drop {
                self.dropping = false;
            }
            while self.dropping && after(now, self.drop_next) {
                let late = skb.expect("the state ends with the queue");
                self.count = self.count.wrapping_add(1);
                self.newton();
                if self.mark(&mut line, late) {
                    self.drop_next = self.law(self.drop_next);
                    return skb;
                }
                line.fates.dropped.push(late.id);
                (skb, drop) = self.take(&mut line, now);
                if drop {
                    self.drop_next = self.law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if drop {
            let late = skb.expect("judged late");
            if !self.mark(&mut line, late) {
                line.fates.dropped.push(late.id);
                (skb, _) = self.take(&mut line, now);
            }
            self.dropping = true;
            let delta = self.count.wrapping_sub(self.lastcount);
            let since = now.wrapping_sub(self.drop_next);
            if delta > 1 && strictly_after(16 * LINUX_INTERVAL, since) {
                self.count = delta;
                self.newton();
            } else {
                self.count = 1;
                self.rec_inv_sqrt = 65_535;
            }
            self.lastcount = self.count;
            self.drop_next = self.law(now);
        }
        skb
    }
}

/// Linux 3.5 to 4.6 within `fq_codel`: the same law with two differences. An empty flow keeps
/// `first_above_time`, and an overflow drops one packet, which does not raise `count`.
pub struct Linux35(Linux);

impl Law for Linux35 {
    const BATCH: usize = 1;

    fn new(ecn: bool) -> Self {
        Self(Linux::new(ecn))
    }

    fn dequeue(&mut self, line: Line<'_>, now_ns: u64) -> Option<Item> {
        if line.queue.is_empty() {
            self.0.dropping = false;
            return None;
        }
        self.0.dequeue(line, now_ns)
    }
}

/// FreeBSD 10.4: a clock in microseconds that advances by a millisecond at a time.
#[derive(Default)]
pub struct FreeBsd {
    ecn: bool,
    largest: u64,
    count: u32,
    dropping: bool,
    first_above_time: u64,
    drop_next: u64,
    isqrt: u16,
}

fn freebsd_now(ns: u64) -> u64 {
    ns / 1_000_000 * 1_000
}

impl FreeBsd {
    fn law(&mut self, t: u64) -> u64 {
        if self.count == 1 {
            self.isqrt = 45_875;
            return t + 100_000;
        }
        let old = u64::from(self.isqrt);
        let half = (3 * 65_536 * 65_536 - u64::from(self.count) * old * old) / 512;
        self.isqrt = (old * half / (1 << 24)) as u16;
        t + 100_000 * u64::from(self.isqrt) / 65_536
    }

    fn take(&mut self, line: &mut Line<'_>, now: u64) -> (Option<Item>, bool) {
        let Some(item) = line.queue.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let bytes = line.own();
        if now - freebsd_now(item.arrived) < 5_000 || bytes <= self.largest {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + 100_000;
        } else if now >= self.first_above_time {
            return (Some(item), true);
        }
        (Some(item), false)
    }
}

impl Law for FreeBsd {
    fn new(ecn: bool) -> Self {
        Self { ecn, largest: 500, ..Self::default() }
    }

    fn on_offer(&mut self, len: u64) {
        self.largest = self.largest.max(len);
    }

    fn on_wake(&mut self) {
        self.dropping = false;
        self.first_above_time = 0;
    }

    fn dequeue(&mut self, mut line: Line<'_>, now_ns: u64) -> Option<Item> {
        let now = freebsd_now(now_ns);
        let (mut m, mut ok_to_drop) = self.take(&mut line, now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                let late = m.expect("the state ends with the queue");
                if self.ecn && late.capable {
                    line.fates.marked.push(late.id);
                    self.count += 1;
                    self.drop_next = self.law(self.drop_next);
                    return m;
                }
                line.fates.dropped.push(late.id);
                (m, ok_to_drop) = self.take(&mut line, now);
                if ok_to_drop {
                    self.count += 1;
                    self.drop_next = self.law(self.drop_next);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            let late = m.expect("judged late");
            if self.ecn && late.capable {
                line.fates.marked.push(late.id);
            } else {
                line.fates.dropped.push(late.id);
                (m, _) = self.take(&mut line, now);
            }
            self.dropping = true;
            let recent = now < self.drop_next + 800_000;
            self.count = if self.count > 2 && recent { self.count - 2 } else { 1 };
            self.drop_next = self.law(now);
        }
        m
    }
}
