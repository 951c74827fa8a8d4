//! The pseudo-code of RFC 8033, Appendices A and B, with the two corrections that the law also
//! makes. PIE is not switched off before it has measured a delay, and the delay of an empty queue
//! is zero.

use aqmlab_core::{Bytes, Ecn, Packet, Rng, Value};

use crate::{Oracle, Queue, agree};

const QDELAY_REF: f64 = 0.015;
const TAIL_DROP: u64 = 90_000;

/// The variables of RFC 8033, with their names in the RFC.
#[expect(clippy::struct_excessive_bools, reason = "so does the RFC")]
#[derive(Default)]
struct Rfc {
    appendix_b: bool,
    estimate: bool,
    ecn: bool,
    next: u64,
    active: bool,
    known: bool,
    drop_prob: f64,
    accu_prob: f64,
    burst_allowance: f64,
    current_qdelay: f64,
    qdelay_old: f64,
    in_measurement: bool,
    dq_count: u64,
    avg_dq_time: f64,
    measurement_start: f64,
}

impl Rfc {
    fn drop_early(&mut self, bytes: u64, rng: &mut Rng) -> bool {
        if self.qdelay_old < QDELAY_REF / 2.0 && self.drop_prob < 0.2 {
            return false;
        }
        if bytes <= 1_600 {
            return false;
        }
        if self.appendix_b {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        if rng.unit() < self.drop_prob {
            self.accu_prob = 0.0;
            return true;
        }
        false
    }

    fn arrive_a(&mut self, bytes: u64, fits: bool, rng: &mut Rng) -> u8 {
        let low = self.current_qdelay < QDELAY_REF / 2.0 && self.qdelay_old < QDELAY_REF / 2.0;
        if self.drop_prob == 0.0 && low {
            self.burst_allowance = 0.150;
        }
        if !fits || (self.burst_allowance < 1e-9 && self.drop_early(bytes, rng)) { 2 } else { 0 }
    }

    fn arrive_b(&mut self, ect: bool, bytes: u64, fits: bool, rng: &mut Rng) -> u8 {
        if !fits {
            self.accu_prob = 0.0;
            return 2;
        }
        if self.active && self.drop_early(bytes, rng) && self.burst_allowance < 1e-9 {
            if self.ecn && self.drop_prob < 0.1 && ect {
                return 1;
            }
            self.accu_prob = 0.0;
            return 2;
        }
        0
    }

    fn switch(&mut self, now: u64, bytes: u64) {
        if !self.active && bytes >= TAIL_DROP / 3 {
            self.active = true;
            self.known = false;
            self.qdelay_old = 0.0;
            self.drop_prob = 0.0;
            self.in_measurement = true;
            self.dq_count = 0;
            self.avg_dq_time = 0.0;
            self.measurement_start = now as f64 / 1e9;
            self.burst_allowance = 0.150;
            self.accu_prob = 0.0;
            return;
        }
        let quiet = self.drop_prob == 0.0 && self.qdelay_old == 0.0 && self.current_qdelay == 0.0;
        if self.active && self.known && quiet {
            self.active = false;
            self.in_measurement = false;
        }
    }
}

impl Oracle for Rfc {
    fn next_update(&mut self) -> &mut u64 {
        &mut self.next
    }

    fn after(&self, update: u64) -> u64 {
        update + 15_000_000
    }

    fn update(&mut self, bytes: u64, packets: usize) {
        if self.appendix_b && !self.active {
            return;
        }
        if self.estimate {
            self.current_qdelay = bytes as f64 * self.avg_dq_time / 16_384.0;
        } else if packets == 0 {
            self.current_qdelay = 0.0;
        }
        let mut p = 0.125 * (self.current_qdelay - QDELAY_REF)
            + 1.25 * (self.current_qdelay - self.qdelay_old);
        if self.drop_prob < 0.000_001 {
            p /= 2048.0;
        } else if self.drop_prob < 0.000_01 {
            p /= 512.0;
        } else if self.drop_prob < 0.000_1 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        }
        if self.appendix_b && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        let bound = if self.appendix_b { QDELAY_REF / 2.0 } else { f64::MIN_POSITIVE };
        if self.current_qdelay < bound && self.qdelay_old < bound {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = self.current_qdelay;
        self.burst_allowance = (self.burst_allowance - 0.015).max(0.0);
    }

    fn arrive(&mut self, now: u64, packet: &Packet, queue: &Queue, rng: &mut Rng) -> u8 {
        let len = u64::from(packet.len);
        let fits = queue.bytes + len <= TAIL_DROP;
        if !self.appendix_b {
            return self.arrive_a(queue.bytes, fits, rng);
        }
        let verdict = self.arrive_b(packet.ecn != Ecn::NotEct, queue.bytes, fits, rng);
        self.switch(now, queue.bytes + if verdict == 2 { 0 } else { len });
        verdict
    }

    fn depart(&mut self, now: u64, arrived: u64, len: u64, left: u64) {
        if !self.estimate {
            self.current_qdelay = (now - arrived) as f64 / 1e9;
            self.known = true;
            return;
        }
        if self.in_measurement {
            self.dq_count += len;
            if self.dq_count >= 16_384 {
                let start = (self.measurement_start * 1e9).round() as u64;
                let dq_time = (now - start) as f64 / 1e9;
                self.avg_dq_time =
                    if self.known { dq_time * 0.25 + self.avg_dq_time * 0.75 } else { dq_time };
                self.known = true;
                self.in_measurement = false;
            }
        }
        if left >= 16_384 && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = now as f64 / 1e9;
            self.dq_count = 0;
        }
    }
}

fn rfc(appendix: &'static str, delay_from: &'static str, ecn: bool) -> (usize, usize) {
    let changes = [
        ("appendix", Value::Word(appendix, &[])),
        ("delay_from", Value::Word(delay_from, &[])),
        ("limit", Value::Bytes(Bytes(TAIL_DROP))),
        ("ecn", Value::Flag(ecn)),
    ];
    agree("pie_rfc8033", &changes, 300, || {
        Box::new(Rfc {
            appendix_b: appendix == "b",
            estimate: delay_from == "departures",
            ecn,
            next: 15_000_000,
            ..Rfc::default()
        })
    })
}

#[test]
fn pie_rfc8033_drops_the_packets_that_appendix_a_drops() {
    let (drops, _) = rfc("a", "timestamps", false);
    assert!(drops > 20_000, "{drops}");
}

#[test]
fn pie_rfc8033_signals_the_packets_that_appendix_b_signals() {
    for delay_from in ["timestamps", "departures"] {
        let (drops, marks) = rfc("b", delay_from, true);
        assert!(drops > 5_000 && marks > 100, "{delay_from}: {drops} and {marks}");
    }
}
