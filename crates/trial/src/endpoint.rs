//! The configuration of one TCP endpoint of an application.

use std::sync::Arc;

use aqmlab_apps::Open;
use aqmlab_core::{Args, Bytes, Kind};
use aqmlab_tcp::cc::{CongestionControl, EcnNeed};
use aqmlab_tcp::{Config, Profile};

use crate::arguments::{arguments, set_all};
use crate::error::SpecError;
use crate::spec::{Controller, Named, TcpSpec};

/// The allowed MTUs: from the size that every IP module must forward without fragmentation (RFC
/// 791) to the size of the largest IP packet.
const MTUS: std::ops::RangeInclusive<Bytes> = Bytes(68)..=Bytes(65_535);

/// A TCP endpoint, which makes the configuration of each of its connections.
pub struct Endpoint {
    profile: Arc<Profile>,
    cc: (&'static Kind<dyn CongestionControl>, Args),
    spec: TcpSpec,
}

impl Endpoint {
    /// Returns the endpoint that `spec` describes. `at` is the place of `spec` in the trial.
    ///
    /// # Errors
    ///
    /// If the simulator lacks the controller, or a setting is invalid.
    pub fn new(at: &str, spec: &TcpSpec) -> Result<Self, SpecError> {
        let mut profile = spec.profile.profile();
        let settings = Profile::settings(profile.stack);
        set_all(at, settings, &spec.settings, |name, value| profile.set(name, value))?;
        let cc = controller(&format!("{at}.cc"), &profile, spec)?;
        if !MTUS.contains(&spec.mtu) {
            let problem = format!("{} B is not between 68 (RFC 791) and 65535", spec.mtu.0);
            return Err(SpecError::new(format!("{at}.mtu"), problem));
        }
        Ok(Self { profile: Arc::new(profile), cc, spec: spec.clone() })
    }

    /// Replaces the endpoint's profile by an equal profile in `known`, or adds the profile to
    /// `known`.
    pub(crate) fn share_profile(&mut self, known: &mut Vec<Arc<Profile>>) {
        match known.iter().find(|profile| **profile == self.profile) {
            Some(equal) => self.profile = Arc::clone(equal),
            None => known.push(Arc::clone(&self.profile)),
        }
    }

    /// Returns the configuration of a connection that the application opens with `open`.
    pub fn config(&self, open: Open) -> Config {
        let (kind, args) = &self.cc;
        Config {
            profile: Arc::clone(&self.profile),
            cc: (kind.build)(args),
            mtu: self.spec.mtu.0 as u32,
            ecn: self.spec.ecn,
            nodelay: self.spec.nodelay.unwrap_or(open.nodelay),
            quickack: self.spec.quickack.unwrap_or(open.quickack),
            send_buffer: self.spec.send_buffer.map(|bytes| bytes.0),
            receive_buffer: self.spec.receive_buffer.map(|bytes| bytes.0),
            read_events: open.reads,
        }
    }

    /// Returns the configuration of a QUIC connection that the application opens with `open`. The
    /// configuration has the controller, the MTU and the ECN setting of the endpoint, and the 0-RTT
    /// setting of `open`. The endpoint's other settings apply only to TCP.
    pub fn quic(&self, open: Open) -> aqmlab_quic::Config {
        let (kind, args) = &self.cc;
        aqmlab_quic::Config {
            cc: (kind.build)(args),
            mtu: self.spec.mtu.0 as u32,
            ecn: self.spec.ecn,
            zero_rtt: open.zero_rtt,
        }
    }

    /// Refuses an endpoint that cannot have QUIC connections. `at` is the place of the endpoint in
    /// the trial.
    ///
    /// # Errors
    ///
    /// If the controller needs ECN or the feedback of Linux's TCP, or if the MTU is too small.
    pub fn check_quic(&self, at: &str) -> Result<(), SpecError> {
        let (kind, args) = &self.cc;
        let cc = (kind.build)(args);
        if cc.ecn_need() != EcnNeed::None || cc.wants_feedback() {
            let problem = format!(
                "`{}` needs the feedback of Linux's TCP; QUIC has the others, such as `cubic`",
                kind.name
            );
            return Err(SpecError::new(format!("{at}.cc"), problem));
        }
        let least = u64::from(aqmlab_quic::MIN_INITIAL + aqmlab_quic::HEADERS);
        if self.spec.mtu.0 < least {
            let problem = format!(
                "{} B: QUIC needs {least} B, a datagram of 1200 B (RFC 9000 §14)",
                self.spec.mtu.0
            );
            return Err(SpecError::new(format!("{at}.mtu"), problem));
        }
        Ok(())
    }
}

/// Returns the controller of an endpoint and its arguments. If the specification names no
/// controller, returns the controller of the host profile.
fn controller(
    at: &str,
    profile: &Profile,
    spec: &TcpSpec,
) -> Result<(&'static Kind<dyn CongestionControl>, Args), SpecError> {
    let (wanted, params) = match &spec.cc {
        Some(cc) => (cc.kind.name(), Some(&cc.params)),
        None => (profile.default_cc, None),
    };
    let Some(Controller::Simulated(kind)) = Controller::find(wanted) else {
        return Err(SpecError::new(at, format!("there is no kind called `{wanted}`")));
    };
    let args = match params {
        Some(params) => arguments(at, kind.params, params)?,
        None => Args::defaults(kind.params),
    };
    Ok((kind, args))
}
