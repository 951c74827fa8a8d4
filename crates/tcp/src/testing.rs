//! The comparison of connections in unit tests.

use std::fmt::Debug;

use crate::tcb::Tcb;

/// Returns the state of a connection as text, to compare connections. `stack` is its stack's state.
/// The text lacks only `profile`, which never changes, and the state of the congestion control that
/// its gauges do not show.
pub(crate) fn state(stack: &impl Debug, tcb: &Tcb) -> String {
    // The pattern names every field, so that a new field must be added here.
    let Tcb {
        clock,
        profile: _,
        cc,
        window,
        state,
        options,
        ecn,
        snd,
        writer,
        board,
        rtt,
        rate,
        pacer,
        tx_records,
        rcv,
        wakeup,
        timers,
        challenge,
        out,
        events,
        stats,
        mtu,
        nodelay,
        read_events,
        paces,
        controls_cwnd,
        app_acted,
    } = tcb;
    let gauges = cc.gauges();
    [
        format!("{stack:?} {clock:?} {gauges:?} {window:?} {state:?} {options:?} {ecn:?}"),
        format!("{snd:?} {writer:?} {board:?} {rtt:?} {rate:?} {pacer:?} {tx_records:?}"),
        format!("{rcv:?} {wakeup:?} {timers:?} {challenge:?} {out:?} {events:?} {stats:?}"),
        format!("{mtu} {nodelay} {read_events} {paces} {controls_cwnd} {app_acted}"),
    ]
    .join(" ")
}
