//! The settings of a TCP endpoint.

use std::collections::BTreeMap;

use aqmlab_core::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Controller, Host, KindSpec, units};

/// The settings of one TCP endpoint.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSpec {
    /// The host.
    pub profile: Host,
    /// The congestion control; the host's own if absent.
    pub cc: Option<KindSpec<Controller>>,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// The send buffer; automatic if absent.
    #[serde(with = "units::maybe_bytes")]
    #[schemars(with = "Option<u64>")]
    pub send_buffer: Option<Bytes>,
    /// The receive window; automatic if absent.
    #[serde(with = "units::maybe_bytes")]
    #[schemars(with = "Option<u64>")]
    pub receive_buffer: Option<Bytes>,
    /// The largest IP packet.
    #[serde(with = "units::bytes")]
    #[schemars(with = "u32")]
    pub mtu: Bytes,
    /// Overrides the application's own choice of `TCP_NODELAY`.
    pub nodelay: Option<bool>,
    /// Overrides the application's own choice of quick acknowledgements.
    pub quickack: Option<bool>,
    /// Further settings of the host, by name; durations in nanoseconds.
    pub settings: BTreeMap<String, serde_json::Value>,
}

impl Default for TcpSpec {
    fn default() -> Self {
        Self {
            profile: Host::default(),
            cc: None,
            ecn: false,
            send_buffer: None,
            receive_buffer: None,
            mtu: Bytes(1_500),
            nodelay: None,
            quickack: None,
            settings: BTreeMap::new(),
        }
    }
}
