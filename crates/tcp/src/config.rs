//! The configuration of an endpoint.

use std::sync::Arc;

use crate::Profile;
use crate::cc::CongestionControl;

/// The configuration of a [`crate::Connection`].
pub struct Config {
    /// The profile of the endpoint's host. Connections share the profile, because separate copies
    /// would displace the connections' state from the processor's cache.
    pub profile: Arc<Profile>,
    /// The congestion control of the endpoint, in its initial state.
    pub cc: Box<dyn CongestionControl>,
    /// The size of the largest IP packet in bytes.
    pub mtu: u32,
    /// Whether the endpoint requests and accepts ECN, even if the profile's `tcp_ecn` is zero.
    pub ecn: bool,
    /// Whether small segments are sent at once, without Nagle's rule.
    pub nodelay: bool,
    /// Whether the endpoint acknowledges every segment at once.
    pub quickack: bool,
    /// The size of the send buffer in bytes, as `SO_SNDBUF` sets it; automatic if `None`.
    pub send_buffer: Option<u64>,
    /// The largest receive window in bytes; automatic if `None`.
    pub receive_buffer: Option<u64>,
    /// Whether reads by the application are events ([`crate::Event::Readable`]). They are always
    /// counted ([`crate::Stats::bytes_delivered`]).
    pub read_events: bool,
}

impl Config {
    /// Returns a configuration with a socket's defaults: Ethernet's MTU, no ECN, Nagle's rule,
    /// delayed acknowledgements and automatic buffers.
    pub fn new(profile: impl Into<Arc<Profile>>, cc: Box<dyn CongestionControl>) -> Self {
        Self {
            profile: profile.into(),
            cc,
            mtu: 1_500,
            ecn: false,
            nodelay: false,
            quickack: false,
            send_buffer: None,
            receive_buffer: None,
            read_events: true,
        }
    }
}
