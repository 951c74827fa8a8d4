//! The configuration of an end.

use aqmlab_tcp::cc::CongestionControl;

/// The smallest payload in bytes of a datagram with an Initial packet of the client (RFC 9000
/// §14.1).
pub const MIN_INITIAL: u32 = 1_200;
/// The length in bytes of the headers of IPv4 and UDP.
pub const HEADERS: u32 = 28;
/// The largest payload in bytes of a datagram that stacks try when they search for the path's MTU:
/// Ethernet's MTU with IPv6 (quinn-proto 0.11 `MtuDiscoveryConfig`; ngtcp2).
const MOST_PAYLOAD: u32 = 1_452;

/// The configuration of a [`crate::Connection`].
pub struct Config {
    /// The congestion control of the end, in its initial state.
    pub cc: Box<dyn CongestionControl>,
    /// The MTU in bytes. Packets have at most 1480 bytes.
    pub mtu: u32,
    /// Whether the end sends ECT(0), until the validation of ECN fails.
    pub ecn: bool,
    /// Whether the connection resumes an earlier connection. The client then sends data in 0-RTT
    /// packets, and the server sends no certificate. A token of the earlier connection validates
    /// the client's address (RFC 9000 §8.1.3). Both ends of a connection have the same value.
    pub zero_rtt: bool,
}

impl Config {
    /// Returns a configuration with the controller `cc` and Ethernet's MTU, without ECN and without
    /// 0-RTT.
    pub fn new(cc: Box<dyn CongestionControl>) -> Self {
        Self { cc, mtu: 1_500, ecn: false, zero_rtt: false }
    }

    /// Returns the largest payload in bytes of a datagram after the handshake
    /// (`max_datagram_size`).
    pub(crate) fn max_datagram_size(&self) -> u32 {
        self.mtu.saturating_sub(HEADERS).clamp(MIN_INITIAL, MOST_PAYLOAD)
    }
}
