//! `sch_pie` of Linux 6.1, with plain divisions and the step computed in 128 bits.

use aqmlab_core::{Duration, Ecn, Packet, Rng, Value};

use crate::{Oracle, Queue, agree};

const ONE: u64 = u64::MAX >> 8;

/// The variables of `struct pie_vars`, with their names in the kernel.
struct LinuxPie {
    tupdate: u64,
    next: u64,
    ecn: bool,
    bytemode: bool,
    dq_rate_estimator: bool,
    qdelay: u64,
    qdelay_old: u64,
    burst_time: u64,
    dq_tstamp: u64,
    prob: u64,
    accu_prob: u64,
    dq_count: u64,
    avg_dq_rate: u64,
}

const INVALID: u64 = u64::MAX;
const TARGET: u64 = 15_000_000 / 64;

impl LinuxPie {
    fn new(first: u64, tupdate: u64, ecn: bool, bytemode: bool, dq_rate_estimator: bool) -> Self {
        let mut pie = Self {
            tupdate,
            next: first,
            ecn,
            bytemode,
            dq_rate_estimator,
            qdelay: 0,
            qdelay_old: 0,
            burst_time: 0,
            dq_tstamp: 0,
            prob: 0,
            accu_prob: 0,
            dq_count: 0,
            avg_dq_rate: 0,
        };
        pie.vars_init();
        pie
    }

    fn vars_init(&mut self) {
        self.burst_time = 150_000_000 / 64;
        self.dq_tstamp = INVALID;
        self.accu_prob = 0;
        self.dq_count = INVALID;
        self.avg_dq_rate = 0;
    }

    fn drop_early(&mut self, backlog: u64, size: u64, rng: &mut Rng) -> bool {
        if self.burst_time > 0 {
            return false;
        }
        if self.qdelay < TARGET / 2 && self.prob < ONE / 5 {
            return false;
        }
        if backlog < 2 * 1_514 {
            return false;
        }
        let mut local = self.prob;
        if self.bytemode && size <= 1_514 {
            local = size * (local / 1_514);
        }
        if local == 0 {
            self.accu_prob = 0;
        } else {
            self.accu_prob += local;
        }
        if self.accu_prob < (ONE / 100) * 85 {
            return false;
        }
        if self.accu_prob >= (ONE / 2) * 17 {
            return true;
        }
        if (rng.next_u64() >> 8) < local {
            self.accu_prob = 0;
            return true;
        }
        false
    }

    fn measure(&mut self, now: u64, len: u64, left: u64) -> u64 {
        if left >= 16_384 && self.dq_count == INVALID {
            self.dq_tstamp = now;
            self.dq_count = 0;
        }
        if self.dq_count == INVALID {
            return 0;
        }
        self.dq_count += len;
        if self.dq_count < 16_384 || now == self.dq_tstamp {
            return 0;
        }
        let dtime = now - self.dq_tstamp;
        let rate = self.dq_count * 256 / dtime;
        self.avg_dq_rate = if self.avg_dq_rate == 0 {
            rate
        } else {
            self.avg_dq_rate - self.avg_dq_rate / 8 + rate / 8
        };
        if left < 16_384 {
            self.dq_count = INVALID;
        } else {
            self.dq_count = 0;
            self.dq_tstamp = now;
        }
        dtime
    }

    /// Returns the step, computed exactly in 128 bits; in these schedules it fits into 64 bits.
    fn step(&self, qdelay: u64, qdelay_old: u64) -> i128 {
        let (mut alpha, mut beta) = (2 * (ONE / 15_625_000) / 16, 20 * (ONE / 15_625_000) / 16);
        if self.prob < ONE / 10 {
            alpha /= 2;
            beta /= 2;
            for power in [100, 1_000, 10_000, 100_000, 1_000_000] {
                if self.prob < ONE / power {
                    alpha /= 4;
                    beta /= 4;
                }
            }
        }
        let (qdelay, old) = (i128::from(qdelay), i128::from(qdelay_old));
        i128::from(alpha) * (qdelay - i128::from(TARGET)) + i128::from(beta) * (qdelay - old)
    }
}

impl Oracle for LinuxPie {
    fn next_update(&mut self) -> &mut u64 {
        &mut self.next
    }

    fn after(&self, update: u64) -> u64 {
        update + self.tupdate
    }

    fn update(&mut self, backlog: u64, _packets: usize) {
        let (mut qdelay, mut qdelay_old) = (self.qdelay, self.qdelay_old);
        if self.dq_rate_estimator {
            qdelay_old = self.qdelay;
            self.qdelay_old = self.qdelay;
            qdelay = (backlog * 256).checked_div(self.avg_dq_rate).unwrap_or(0);
        }
        let update_prob = qdelay != 0 || backlog == 0;
        let mut delta = self.step(qdelay, qdelay_old);
        if delta > i128::from(ONE / 50) && self.prob >= ONE / 10 {
            delta = i128::from(ONE / 100 * 2);
        }
        if qdelay > 250_000_000 / 64 {
            delta += i128::from(ONE / 50);
        }
        let sum = i128::from(self.prob) + delta;
        assert!(sum < i128::from(u64::MAX), "these schedules do not go on for so long");
        self.prob = u64::try_from(sum).unwrap_or(0);
        if qdelay == 0 && qdelay_old == 0 && update_prob {
            self.prob -= self.prob / 64;
        }
        self.qdelay = qdelay;
        let low = self.qdelay < TARGET / 2 && self.qdelay_old < TARGET / 2;
        if low && self.prob == 0 && (!self.dq_rate_estimator || self.avg_dq_rate > 0) {
            self.vars_init();
        }
        if !self.dq_rate_estimator {
            self.qdelay_old = qdelay;
        }
    }

    fn arrive(&mut self, _now: u64, packet: &Packet, queue: &Queue, rng: &mut Rng) -> u8 {
        if queue.packets.len() < 100 {
            if !self.drop_early(queue.bytes, packet.len.into(), rng) {
                return 0;
            }
            if self.ecn && self.prob <= ONE / 10 && packet.ecn != Ecn::NotEct {
                return 1;
            }
        }
        self.accu_prob = 0;
        2
    }

    fn depart(&mut self, now: u64, arrived: u64, len: u64, left: u64) {
        let now = now / 64;
        let mut dtime = 0;
        if self.dq_rate_estimator {
            dtime = self.measure(now, len, left);
        } else {
            self.qdelay = now - arrived / 64;
            if self.dq_tstamp != INVALID {
                dtime = now - self.dq_tstamp;
            }
            self.dq_tstamp = now;
            if left == 0 {
                self.qdelay = 0;
            }
        }
        self.burst_time -= self.burst_time.min(dtime);
    }
}

#[test]
fn pie_signals_the_packets_that_linux_signals() {
    for (tick_ms, first, tupdate) in [(0, 500, 15), (4, 512, 20), (1, 504, 16)] {
        for (ecn, bytemode, estimator) in
            [(false, false, false), (true, false, false), (true, true, false), (true, false, true)]
        {
            let changes = [
                ("limit", Value::Count(100)),
                ("tick", Value::Duration(Duration::from_millis(tick_ms))),
                ("ecn", Value::Flag(ecn)),
                ("bytemode", Value::Flag(bytemode)),
                ("dq_rate_estimator", Value::Flag(estimator)),
            ];
            let (drops, marks) = agree("pie", &changes, 60, || {
                let (first, tupdate) = (first * 1_000_000, tupdate * 1_000_000);
                Box::new(LinuxPie::new(first, tupdate, ecn, bytemode, estimator))
            });
            assert!(drops > 5_000, "{changes:?}: {drops}");
            assert_eq!(marks > 100, ecn, "{changes:?}: {marks}");
        }
    }
}

#[test]
fn fq_pie_with_one_flow_signals_the_packets_that_linux_signals() {
    for estimator in [false, true] {
        let changes = [
            ("limit", Value::Count(100)),
            ("salt", Value::Count(7)),
            ("tick", Value::Duration(Duration::from_millis(4))),
            ("ecn", Value::Flag(true)),
            ("dq_rate_estimator", Value::Flag(estimator)),
        ];
        let (drops, marks) = agree("fq_pie", &changes, 100, || {
            Box::new(LinuxPie::new(512_000_000, 20_000_000, true, false, estimator))
        });
        assert!(drops > 5_000 && marks > 100, "{drops} and {marks}");
    }
}
