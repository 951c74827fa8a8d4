//! A play: a run of a sender on a bottleneck, for comparisons of a controller with the code of the
//! algorithm's authors.
//!
//! The sender is simpler than a connection. An acknowledgement covers the packets that arrived
//! together. A packet is lost when a third later packet has arrived. A lost packet is not sent
//! again. The sender calls the controller as Linux does. All numbers are whole, so every platform
//! reproduces a run.

mod controller;
mod recipe;

use std::collections::VecDeque;

use aqmlab_recipe::Mixer;
use aqmlab_tcp::cc::CaState;

pub use controller::*;
pub use recipe::Recipe;

/// A packet that is neither acknowledged nor lost.
#[derive(Clone, Copy, Debug)]
struct Packet {
    number: u64,
    end: u64,
    sent: u64,
    first_sent: u64,
    prior: Conn,
    app_limited: bool,
    tx_in_flight: u64,
    /// The time of the packet's acknowledgement, and whether the packet is marked; `None` if it was
    /// dropped.
    fate: Option<(u64, bool)>,
}

/// The time of an acknowledgement and the decision after it, for records.
pub type Line = (u64, Decision);

struct Play<'a, C> {
    recipe: Recipe,
    mixer: Mixer,
    to: &'a mut C,
    conn: Conn,
    flight: VecDeque<Packet>,
    first_sent: u64,
    sent: u64,
    link_free: u64,
    last_ack: u64,
    high: u64,
    highest: u64,
    paused_until: u64,
    pause_after: u64,
    lines: Vec<Line>,
}

/// Runs a recipe, and returns the decision after each acknowledgement.
pub fn play(recipe: Recipe, to: &mut impl Controller) -> Vec<Line> {
    let start = 1_000_000;
    let conn = Conn::new(start, recipe.rtt_us);
    to.start(&conn);
    let mut play = Play {
        recipe,
        mixer: Mixer(recipe.seed),
        to,
        conn,
        flight: VecDeque::new(),
        first_sent: start,
        sent: 0,
        link_free: 0,
        last_ack: 0,
        high: 0,
        highest: 0,
        paused_until: 0,
        pause_after: 0,
        lines: Vec::new(),
    };
    play.pause_after = if recipe.pauses { play.mixer.below(400) } else { u64::MAX };
    play.run(start + recipe.seconds * 1_000_000);
    play.lines
}

impl<C: Controller> Play<'_, C> {
    fn run(&mut self, end: u64) {
        while self.conn.now < end {
            let paced = self.send();
            let acked = self.flight.iter().find_map(|packet| packet.fate).map(|(at, _)| at);
            let timeout = self.conn.delivered_at.max(self.first_sent) + 1_000_000;
            let timeout = (!self.flight.is_empty()).then_some(timeout.max(self.conn.now));
            let next = [paced, acked, timeout].into_iter().flatten().min().expect("it goes on");
            self.conn.now = self.conn.now.max(next);
            if acked == Some(next) {
                self.acknowledge();
            } else if timeout == Some(next) && paced != Some(next) {
                self.time_out();
            }
        }
    }

    fn kbit(&self) -> u64 {
        let half = 1_000_000 + self.recipe.seconds * 500_000;
        let step = if self.conn.now > half { self.recipe.step } else { 100 };
        (self.recipe.kbit * step / 100).max(50)
    }

    /// Sends the packets that may be sent. Returns the time for the next packet, unless the window
    /// is full.
    fn send(&mut self) -> Option<u64> {
        loop {
            let decision = self.to.decision();
            if self.conn.now < self.paused_until {
                self.limit_by_application();
                return Some(self.paused_until);
            }
            self.conn.cwnd_limited = self.conn.in_flight >= decision.cwnd;
            if self.conn.cwnd_limited {
                return None;
            }
            if self.conn.departure > self.conn.now {
                return Some(self.conn.departure);
            }
            if self.pause_after == 0 {
                self.paused_until = self.conn.now + 1 + self.mixer.below(400_000);
                self.pause_after = 1 + self.mixer.below(600);
                continue;
            }
            self.pause_after -= 1;
            if self.conn.in_flight == 0 {
                self.to.change(&self.conn, Change::TransmitStart);
            }
            self.send_one();
        }
    }

    fn limit_by_application(&mut self) {
        self.conn.app_limited = (self.conn.delivered + self.conn.in_flight).max(1);
    }

    fn send_one(&mut self) {
        let (decision, now) = (self.to.decision(), self.conn.now);
        if self.flight.is_empty() {
            self.first_sent = now;
            self.conn.delivered_at = now;
        }
        let bytes = decision.mss + 52;
        self.conn.departure = now + (decision.mss * 1_000_000).div_ceil(decision.rate.max(1));
        let fate = self.transmit(bytes);
        self.conn.snd_nxt += decision.mss;
        self.conn.in_flight += 1;
        self.conn.max_packets_out = self.conn.max_packets_out.max(self.conn.in_flight);
        self.flight.push_back(Packet {
            number: self.sent,
            end: self.conn.snd_nxt,
            sent: now,
            first_sent: self.first_sent,
            prior: self.conn,
            app_limited: self.conn.app_limited != 0,
            tx_in_flight: self.conn.in_flight,
            fate,
        });
        self.sent += 1;
    }

    /// Sends a packet of `bytes` over the link. Returns the time of its acknowledgement and
    /// whether it is marked; `None` if it is dropped.
    fn transmit(&mut self, bytes: u64) -> Option<(u64, bool)> {
        let (now, recipe) = (self.conn.now, self.recipe);
        let time = (bytes * 8_000).div_ceil(self.kbit());
        let wait = self.link_free.saturating_sub(now);
        let is_out = recipe.outage && (3_000_000..4_500_000).contains(&now);
        if wait / time >= recipe.buffer || is_out {
            return None;
        }
        self.link_free = now.max(self.link_free) + time;
        if self.mixer.below(1_000_000) < recipe.loss {
            return None;
        }
        let mut at = self.link_free + recipe.rtt_us;
        if recipe.batch_us > 0 {
            at = at.next_multiple_of(recipe.batch_us);
        }
        self.last_ack = self.last_ack.max(at);
        Some((self.last_ack, recipe.mark_us > 0 && wait > recipe.mark_us))
    }

    fn acknowledge(&mut self) {
        let now = self.conn.now;
        let mut facts = Facts { prior_in_flight: self.conn.in_flight, ..Facts::default() };
        let mut newest: Option<Packet> = None;
        for packet in &self.flight {
            if packet.fate.is_some_and(|(at, _)| at <= now) {
                facts.acked += 1;
                facts.marks += u64::from(packet.fate.is_some_and(|(_, marked)| marked));
                newest = Some(*packet);
            }
        }
        let newest = newest.expect("something arrived");
        self.flight.retain(|packet| packet.fate.is_none_or(|(at, _)| at > now));
        self.conn.delivered += facts.acked;
        self.conn.delivered_ce += facts.marks;
        self.conn.in_flight -= facts.acked;
        self.highest = self.highest.max(newest.number);
        facts.rtt = now - newest.sent;
        self.measure(facts.rtt);
        self.to.sample(&self.conn);
        let lost = self.conn.lost;
        self.detect_losses();
        facts.losses = self.conn.lost - lost;
        let oldest = self.flight.front();
        self.conn.snd_una =
            oldest.map_or(self.conn.snd_nxt, |packet| packet.end - self.to.decision().mss);
        self.change_state(facts.losses, facts.marks, newest.number);
        self.rate(&mut facts, &newest);
        self.to.ack(&self.conn, &facts);
        if self.to.decision().limits_samples {
            self.limit_by_application();
        }
        self.conn.max_packets_out = self.conn.in_flight;
        self.lines.push((now, self.to.decision()));
    }

    fn measure(&mut self, rtt: u64) {
        self.conn.min_rtt = self.conn.min_rtt.min(rtt);
        self.conn.srtt8 = self.conn.srtt8 - self.conn.srtt8 / 8 + rtt;
    }

    fn detect_losses(&mut self) {
        let limit = self.highest.saturating_sub(2);
        while self.flight.front().is_some_and(|packet| packet.number < limit) {
            self.lose_first();
        }
    }

    fn lose_first(&mut self) {
        let packet = self.flight.pop_front().expect("a packet is in flight");
        self.conn.lost += 1;
        self.conn.in_flight -= 1;
        let lost = Lost {
            tx_in_flight: packet.tx_in_flight,
            losses: self.conn.lost - packet.prior.lost,
            app_limited: packet.app_limited,
        };
        self.to.lost(&self.conn, &lost);
    }

    fn enter(&mut self, ca: CaState, change: Change) {
        self.conn.ca = ca;
        self.high = self.sent;
        self.to.change(&self.conn, change);
    }

    fn change_state(&mut self, losses: u64, marks: u64, newest: u64) {
        let is_done = newest >= self.high;
        if self.conn.ca > CaState::Disorder && is_done && losses == 0 {
            if self.recipe.spurious && self.conn.ca >= CaState::Recovery && self.mixer.below(3) == 0
            {
                self.to.change(&self.conn, Change::Undo);
            }
            self.conn.ca = CaState::Open;
            self.to.change(&self.conn, Change::Open);
        }
        if losses > 0 && self.conn.ca < CaState::Recovery {
            if self.conn.ca != CaState::Cwr {
                self.to.reduce(&self.conn, false);
            }
            self.enter(CaState::Recovery, Change::Recovery);
        } else if marks > 0 && self.conn.ca < CaState::Cwr {
            self.to.reduce(&self.conn, false);
            self.enter(CaState::Cwr, Change::Cwr);
        } else if self.conn.ca == CaState::Open && self.mixer.below(3_000) == 0 {
            let app_limited = self.conn.app_limited != 0;
            self.to.change(&self.conn, Change::ProbeRepaired { app_limited });
            self.to.reduce(&self.conn, false);
            self.enter(CaState::Cwr, Change::Cwr);
            self.conn.ca = CaState::Open;
            self.to.change(&self.conn, Change::Open);
        }
    }

    fn rate(&mut self, facts: &mut Facts, newest: &Packet) {
        let conn = &mut self.conn;
        if conn.app_limited != 0 && conn.delivered > conn.app_limited {
            conn.app_limited = 0;
        }
        self.first_sent = newest.sent;
        let sending = newest.sent - newest.first_sent;
        let acking = conn.now - newest.prior.delivered_at;
        let interval = sending.max(acking);
        conn.delivered_at = conn.now;
        facts.interval = (interval >= conn.min_rtt && interval > 0).then_some(interval);
        facts.prior_delivered = newest.prior.delivered;
        facts.delivered = conn.delivered - newest.prior.delivered;
        facts.delivered_ce = conn.delivered_ce - newest.prior.delivered_ce;
        facts.lost = conn.lost - newest.prior.lost;
        facts.tx_in_flight = newest.tx_in_flight;
        facts.app_limited = newest.app_limited;
        facts.acks_probe = self.mixer.below(200) == 0;
    }

    fn time_out(&mut self) {
        while !self.flight.is_empty() {
            self.lose_first();
        }
        self.conn.snd_una = self.conn.snd_nxt;
        self.to.reduce(&self.conn, true);
        self.to.set_cwnd(1);
        self.enter(CaState::Loss, Change::Rto);
    }
}
