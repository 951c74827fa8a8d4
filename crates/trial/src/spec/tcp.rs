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
    /// The profile of the host.
    pub profile: Host,
    /// The congestion controller. If it is absent, the host profile's controller is used.
    pub cc: Option<KindSpec<Controller>>,
    /// Whether ECN is negotiated.
    pub ecn: bool,
    /// The size of the send buffer; automatic if absent.
    #[serde(with = "units::maybe_bytes")]
    #[schemars(with = "Option<u64>")]
    pub send_buffer: Option<Bytes>,
    /// The largest receive window; automatic if absent.
    #[serde(with = "units::maybe_bytes")]
    #[schemars(with = "Option<u64>")]
    pub receive_buffer: Option<Bytes>,
    /// The size of the largest IP packet.
    #[serde(with = "units::bytes")]
    #[schemars(with = "u32")]
    pub mtu: Bytes,
    /// The value of `TCP_NODELAY`. If it is absent, the application chooses.
    pub nodelay: Option<bool>,
    /// Whether quick acknowledgements are enabled. If it is absent, the application chooses.
    pub quickack: Option<bool>,
    /// Further settings of the host's TCP, by name. Durations are in nanoseconds.
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
