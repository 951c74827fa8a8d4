//! The discipline: its state and its configuration.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_init` and `cake_reconfigure`.

use aqmlab_core::{BitRate, Bytes, Cx, Duration, Instant, Packet};

use super::autorate::Autorate;
use super::diffserv::TINS;
use super::heap::Heap;
use super::length::{Extremes, Measured};
use super::rate::Rate;
use super::settings::Settings;
use super::shaper::{Fate, Shaper};
use super::tin::Tin;
use crate::aqm::cobalt;
use crate::flows::memory_of;
use crate::{Backlog, Qdisc};

/// The time for which the gateway has run when a trial begins. Unset times of the kernel are zero,
/// which is a time long before the trial.
pub(super) const UPTIME: Duration = Duration::from_secs(3_600);
/// The memory limit without a rate, before the upper bound of [`LIMIT`] packets is applied.
const UNLIMITED: u64 = u32::MAX as u64;
/// The number of packets from which the kernel derives an upper bound of the memory limit.
const LIMIT: u64 = 10_240;

/// The discipline CAKE, with its tins, its shaper and its totals.
pub struct Cake {
    pub(super) settings: Settings,
    pub(super) tins: Vec<Tin>,
    /// The tin that is served. Before the first turn, this may be an unused tin.
    pub(super) turn: usize,
    /// The numbers of the active tins, as bits.
    pub(super) active: u8,
    pub(super) shaper: Shaper,
    pub(super) autorate: Autorate,
    pub(super) heap: Heap,
    pub(super) backlog: Backlog,
    pub(super) memory: Bytes,
    pub(super) memory_max: Bytes,
    pub(super) memory_limit: Bytes,
    /// The extremes of the packets' lengths before and after overhead and framing.
    pub(super) lengths: [Extremes; 2],
    /// The lengths of the last packet.
    pub(super) last: Measured,
    /// The average length of the link header, times 2¹⁶.
    pub(super) header: u64,
    pub(super) salt: Option<u32>,
}

impl Cake {
    /// Returns CAKE with empty queues.
    pub fn new(settings: Settings) -> Self {
        let count = settings.diffserv.shares(0).len();
        let mut cake = Self {
            settings,
            tins: (0..count).map(|_| Tin::new(settings.isolation)).collect(),
            turn: 0,
            active: 0,
            shaper: Shaper::default(),
            autorate: Autorate::from(settings.rate),
            heap: Heap::default(),
            backlog: Backlog::default(),
            memory: Bytes(0),
            memory_max: Bytes(0),
            memory_limit: Bytes(UNLIMITED),
            lengths: [Extremes::default(); 2],
            last: Measured::default(),
            header: 0,
            salt: (settings.salt != 0).then_some(settings.salt),
        };
        cake.reconfigure(settings.rate);
        cake
    }

    /// Sets the rate in bytes per second (`cake_reconfigure`).
    pub(super) fn reconfigure(&mut self, rate: u64) {
        self.settings.rate = rate;
        let settings = self.settings;
        for (tin, share) in self.tins.iter_mut().zip(settings.diffserv.shares(rate)) {
            let rate = Rate::new(share.rate);
            tin.clock.rate = rate;
            tin.params = law(rate, settings.mtu, settings.target, settings.interval);
            tin.threshold = share.rate;
            tin.quantum = share.quantum;
            tin.flow_quantum = match share.rate {
                0 => 1_514,
                rate => (rate >> 12).clamp(300, 1_514) as u16,
            };
        }
        // The kernel empties the unused tins, and the last of them keeps the turn.
        if self.tins.len() < TINS {
            self.turn = TINS - 1;
        }
        self.shaper.rate = self.tins[0].clock.rate;
        self.memory_limit = memory_limit(&settings);
    }

    /// Returns whether the bits of the active tins equal the states of the tins.
    pub(super) fn knows_active_tins(&self) -> bool {
        let active = self.tins.iter().map(Tin::is_active).enumerate();
        active.fold(0, |bits, (number, is_active)| bits | u8::from(is_active) << number)
            == self.active
    }

    /// Removes a packet from the totals.
    #[inline]
    pub(super) fn forget(&mut self, packet: &Packet) {
        self.memory -= memory_of(packet);
        self.backlog.packets -= 1;
        self.backlog.bytes -= packet.bytes();
    }

    /// Charges the shaper and a tin's clock (`cake_advance_shaper`).
    #[inline]
    pub(super) fn charge(&mut self, tin: usize, len: u32, now: Instant, fate: Fate) {
        self.shaper.charge(len, fate);
        self.tins[tin].clock.charge(len, now);
    }
}

/// Returns the settings of the law in a tin of this rate.
pub(super) fn law(rate: Rate, mtu: u32, target: Duration, interval: Duration) -> cobalt::Params {
    let mtu_time = rate.time(mtu);
    let raised = target.max(mtu_time * 3 / 2);
    let interval = (interval + raised - target).max(raised * 2);
    cobalt::Params { interval, target: raised, mtu_time }
}

/// Returns the memory limit: the given limit, or the bytes that arrive in four intervals at the
/// rate, or [`UNLIMITED`] without a rate. A limit that is not given is at least 4 MiB and at most
/// [`LIMIT`] packets of the largest size.
fn memory_limit(settings: &Settings) -> Bytes {
    let given = settings.memory_limit.map_or(0, |limit| limit.0);
    let wanted = match (given, settings.rate) {
        (0, 0) => UNLIMITED,
        (0, rate) => {
            let bytes = rate.wrapping_mul(settings.interval.as_micros()) / 250_000;
            (bytes & UNLIMITED).max(4 << 20)
        }
        (given, _) => given,
    };
    Bytes(wanted.min(given.max(LIMIT * u64::from(settings.mtu))))
}

impl Qdisc for Cake {
    fn enqueue(&mut self, packet: Packet, cx: &mut Cx<'_>) {
        self.arrive(packet, cx);
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>) -> Option<Packet> {
        let now = cx.now + UPTIME;
        // The separate test leaves the call early if no packet may leave.
        if self.may_send(now) { self.depart(now, cx) } else { None }
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }

    fn has_shaper(&self) -> bool {
        self.settings.rate > 0 || self.settings.is_autorate
    }

    fn ready_at(&self) -> Instant {
        let ready = self.shaper.ready_at().as_nanos();
        Instant::from_nanos(ready.saturating_sub(UPTIME.as_nanos()))
    }

    fn change_rate(&mut self, rate: BitRate) {
        self.reconfigure(rate.as_bps() / 8);
    }

    fn stated_len(&self, ip_len: u32) -> u32 {
        self.settings.charge.stated(ip_len)
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        super::report::gauges(self)
    }
}
