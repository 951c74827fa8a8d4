//! Checks that the datagrams of an application fit into the packets of its hosts.
//!
//! A host splits a datagram that exceeds its MTU into fragments (RFC 791 §3.2), which are not
//! modelled. Fragments after the first have no ports by which a discipline could classify them, and
//! realtime applications avoid fragments. Trials with such datagrams are therefore refused.

use aqmlab_apps::App;

use crate::error::SpecError;
use crate::spec::AppSpec;

/// The length in bytes of the IPv4 header and the UDP or echo request header.
const HEADERS: u32 = 20 + 8;

/// Refuses `app` if a host would fragment one of its datagrams. `at` is the place of the
/// application in the trial.
pub(crate) fn check(at: &str, spec: &AppSpec, app: &dyn App) -> Result<(), SpecError> {
    let Some(datagram) = app.datagram() else { return Ok(()) };
    let mtu = spec.home.mtu.min(spec.wan.mtu).0 as u32;
    let room = mtu.saturating_sub(HEADERS);
    if datagram.bytes <= room {
        return Ok(());
    }
    let problem = if datagram.set_by.ends_with("payload") || datagram.set_by == "response" {
        let given = datagram.bytes - datagram.headers;
        let most = room.saturating_sub(datagram.headers);
        let within = match datagram.headers {
            0 => String::new(),
            headers => format!(" and up to {headers} B of its own"),
        };
        format!(
            "{given} B do not fit a packet of {mtu} B, the hosts' MTU, beside {HEADERS} B of \
             headers{within}: {most} B at most"
        )
    } else {
        format!(
            "makes datagrams of {} B, of which a packet of {mtu} B, the hosts' MTU, holds {room} B",
            datagram.bytes
        )
    };
    Err(SpecError::new(format!("{at}.{}", datagram.set_by), problem))
}
