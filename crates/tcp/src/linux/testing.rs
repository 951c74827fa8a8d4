//! Open connections for unit tests.

use aqmlab_core::{Args, Instant};

use super::Linux;
use crate::cc::kinds;
use crate::common::clock::Expiry;
use crate::common::scoreboard::Sent;
use crate::state::State;
use crate::tcb::Tcb;
pub(super) use crate::testing::state;
use crate::{Config, Profile};

/// Returns an open connection of `profile` with SACK, the congestion control `cc` and segments of
/// 1448 bytes.
pub(super) fn with(profile: Profile, cc: &str, send_buffer: Option<u64>) -> (Linux, Tcb) {
    let kind = kinds::find(cc).expect("it is registered");
    let mut config = Config::new(profile, (kind.build)(&Args::defaults(kind.params)));
    config.send_buffer = send_buffer;
    let linux = Linux::new(&config);
    let offer = linux.ecn_offer(&config);
    let mut tcb = Tcb::new(config, Expiry::Wheel, offer);
    tcb.state = State::Established;
    tcb.options.sack = true;
    (tcb.window.mss, tcb.window.segment, tcb.options.mss_clamp) = (1_448, 1, 1_460);
    (tcb.snd.una, tcb.snd.nxt, tcb.snd.max) = (1, 1, 1);
    (linux, tcb)
}

/// Returns an open connection of Linux 6.1 with the congestion control `cc`.
pub(super) fn open(cc: &str) -> (Linux, Tcb) {
    with(Profile::linux(), cc, None)
}

/// Adds `segments` segments of 1448 bytes, sent at time zero, to the scoreboard.
pub(super) fn send(tcb: &mut Tcb, segments: u32) {
    for _ in 0..segments {
        let mut sent = Sent::new(tcb.snd.nxt, 1_448, 0);
        sent.sent_at = Instant::ZERO;
        tcb.snd.nxt = sent.end();
        tcb.snd.max = tcb.snd.nxt;
        tcb.board.push(sent);
    }
}
