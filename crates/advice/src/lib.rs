//! Advice on a gateway as text: the gateway's settings to paste, and the conclusion in sentences.
//!
//! Every function is pure: its inputs are numbers and names, and its output is text. The command
//! line and the page call the same functions, so both show the same text. [`settings`] and
//! [`sentences`] read JSON, because both callers already have it.

mod device;
mod dummynet;
mod linux;
mod openwrt;
mod sentences;
mod words;

pub use device::{Bottleneck, Framing, Gateway};
pub use sentences::{ByMedian, Conclusion, Cost, Gain, Sentence, Spoiled, Way};

use serde::Serialize;

/// The commands that set up one gateway, for three systems.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Settings {
    /// `tc` and `ip` commands for a Linux gateway: HTB and a discipline, on an IFB for arriving
    /// packets.
    pub tc: String,
    /// `uci` commands for OpenWrt with the package `sqm-scripts`.
    pub uci: String,
    /// `dnctl` and `ipfw` commands for FreeBSD and OPNsense.
    pub dnctl: String,
}

/// Returns the commands for `gateway`.
pub fn settings_of(gateway: &Gateway) -> Settings {
    Settings {
        tc: linux::commands(gateway),
        uci: openwrt::commands(gateway),
        dnctl: dummynet::commands(gateway),
    }
}

/// Returns the commands for a gateway as JSON, from a [`Gateway`] as JSON.
///
/// # Errors
///
/// Returns the reason if `gateway` is not the JSON of a gateway.
pub fn settings(gateway: &str) -> Result<String, String> {
    let gateway: Gateway = serde_json::from_str(gateway).map_err(|error| error.to_string())?;
    serde_json::to_string(&settings_of(&gateway)).map_err(|error| error.to_string())
}

/// Returns the sentences of a conclusion as JSON, from a [`Conclusion`] as JSON.
///
/// # Errors
///
/// Returns the reason if `conclusion` is not the JSON of a conclusion.
pub fn sentences(conclusion: &str) -> Result<String, String> {
    let known: Conclusion = serde_json::from_str(conclusion).map_err(|error| error.to_string())?;
    serde_json::to_string(&sentences::of(&known)).map_err(|error| error.to_string())
}
