//! The configuration of an endpoint.

use crate::Profile;
use crate::cc::CongestionControl;

/// The configuration of a [`crate::Connection`].
pub struct Config {
    /// The host that the endpoint belongs to.
    pub profile: Profile,
    /// The congestion control of the endpoint, in its initial state.
    pub cc: Box<dyn CongestionControl>,
    /// Bytes of the largest IP packet.
    pub mtu: u32,
    /// Whether the endpoint requests and accepts ECN.
    pub ecn: bool,
    /// Whether small segments leave at once rather than by Nagle's rule.
    pub nodelay: bool,
    /// Whether the endpoint acknowledges every segment at once.
    pub quickack: bool,
    /// Bytes of payload that the send buffer holds; automatic if `None`.
    pub send_buffer: Option<u64>,
    /// Bytes of receive window; automatic if `None`.
    pub receive_buffer: Option<u64>,
}

impl Config {
    /// A configuration with a socket's defaults: Ethernet's MTU, no ECN, Nagle's rule, delayed
    /// acknowledgements, automatic buffers.
    pub fn new(profile: Profile, cc: Box<dyn CongestionControl>) -> Self {
        Self {
            profile,
            cc,
            mtu: 1_500,
            ecn: false,
            nodelay: false,
            quickack: false,
            send_buffer: None,
            receive_buffer: None,
        }
    }
}
