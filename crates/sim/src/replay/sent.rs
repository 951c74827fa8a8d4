//! The TCP headers of recorded packets.

use aqmlab_core::{Header, SackBlocks, TcpFlags, TcpHeader};
use serde::Deserialize;

/// The fields of a recorded packet's TCP header that disciplines read.
#[derive(Clone, Debug, Deserialize)]
pub struct SentTcp {
    /// The acknowledgement number.
    pub ack: u64,
    /// The control bits.
    pub flags: u8,
    /// The length of the data in bytes.
    pub payload: u32,
    /// The SACK blocks.
    #[serde(default)]
    pub sack: Vec<(u64, u64)>,
    /// The timestamp value and the echoed timestamp, if there is a timestamp option.
    #[serde(default)]
    pub times: Option<(u32, u32)>,
}

impl SentTcp {
    /// Returns the header for a packet of the simulator. All other fields have defaults.
    pub(super) fn header(&self) -> Header {
        let mut sack = SackBlocks::default();
        self.sack.iter().for_each(|&(start, end)| sack.push(self.ack, start, end));
        let (ts_val, ts_ecr) = self.times.unwrap_or_default();
        Header::Tcp(TcpHeader {
            ack: self.ack,
            flags: TcpFlags(self.flags.into()),
            payload: self.payload,
            sack,
            timestamps: self.times.is_some(),
            ts_val,
            ts_ecr,
            ..TcpHeader::default()
        })
    }
}
