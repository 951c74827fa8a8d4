//! How the TCP of one end of an application is set up.

use std::collections::BTreeMap;

use aqmlab_apps::Open;
use aqmlab_tcp::cc::CongestionControl;
use aqmlab_tcp::{Config, Profile};

use crate::arguments::{Chosen, choose, set_all};
use crate::error::SpecError;
use crate::spec::{KindSpec, TcpSpec};

/// Makes configurations for connections, all alike.
pub(crate) struct TcpPlan {
    profile: Profile,
    cc: Chosen<dyn CongestionControl>,
    spec: TcpSpec,
}

impl TcpPlan {
    /// Checks a [`TcpSpec`], whose place in the trial is `at`.
    pub(crate) fn new(at: &str, spec: &TcpSpec) -> Result<Self, SpecError> {
        let mut profile = Profile::find(&spec.profile).ok_or_else(|| {
            let problem = format!("there is no host called `{}`", spec.profile);
            SpecError::new(format!("{at}.profile"), problem)
        })?;
        let settings = Profile::settings(profile.stack);
        set_all(at, settings, &spec.settings, |name, value| profile.set(name, value))?;
        let standard = KindSpec { kind: profile.default_cc.into(), params: BTreeMap::new() };
        let wanted = spec.cc.as_ref().unwrap_or(&standard);
        let cc = choose(&format!("{at}.cc"), wanted, aqmlab_tcp::cc::kinds::find)?;
        if !(68..=65_535).contains(&spec.mtu) {
            let problem = format!("{} B is not between 68 (RFC 791) and 65535", spec.mtu);
            return Err(SpecError::new(format!("{at}.mtu"), problem));
        }
        Ok(Self { profile, cc, spec: spec.clone() })
    }

    /// The configuration of one connection.
    pub(crate) fn config(&self, open: Open) -> Config {
        Config {
            profile: self.profile.clone(),
            cc: self.cc.build(),
            mtu: self.spec.mtu,
            ecn: self.spec.ecn,
            nodelay: self.spec.nodelay.unwrap_or(open.nodelay),
            quickack: self.spec.quickack.unwrap_or(open.quickack),
            send_buffer: self.spec.send_buffer,
            receive_buffer: self.spec.receive_buffer,
        }
    }
}
