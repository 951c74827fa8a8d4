//! Open connections for unit tests.

use aqmlab_core::Args;

use super::FreeBsd;
use crate::cc::kinds;
use crate::common::scoreboard::{PUSH, Sent};
use crate::state::State;
use crate::tcb::Tcb;
pub(super) use crate::testing::state;
use crate::{Config, Profile};

/// The payload of a full segment, in bytes.
pub(super) const MSS: u64 = 1_448;

/// Returns the profile of FreeBSD 10.3.
pub(super) fn profile() -> Profile {
    Profile::find("freebsd-10.3").expect("there is such a profile")
}

/// Returns an open connection of `profile` with `outstanding` full segments and the congestion
/// control `cc`.
pub(super) fn open(profile: Profile, cc: &str, outstanding: u64) -> (FreeBsd, Tcb) {
    let kind = kinds::find(cc).expect("it is registered");
    let config = Config::new(profile, (kind.build)(&Args::defaults(kind.params)));
    let mut freebsd = FreeBsd::new(&config);
    let (expiry, offer) = (freebsd.expiry(&config.profile), freebsd.ecn_offer(&config));
    let mut tcb = Tcb::new(config, expiry, offer);
    tcb.state = State::Established;
    (tcb.options.sack, tcb.options.timestamps, tcb.options.rcv_shift) = (true, true, 6);
    (tcb.window.mss, tcb.window.segment) = (MSS as u32, MSS);
    (tcb.snd.una, tcb.snd.nxt, tcb.snd.max) = (1, 1, 1);
    freebsd.send_buffer.init(&tcb.window);
    for _ in 0..outstanding {
        tcb.board.push(Sent::new(tcb.snd.nxt, MSS as u32, PUSH));
        (tcb.snd.nxt, tcb.snd.max) = (tcb.snd.nxt + MSS, tcb.snd.max + MSS);
        tcb.snd.extend(MSS);
    }
    (freebsd, tcb)
}
