//! The generators, one per file. To add a generator, write its file and add its name to the list
//! below.
//!
//! A file declares its kinds as `KINDS` and their needs as `NEEDS`.

use crate::App;
use crate::needs::Needs;

/// Declares the modules of the generators, and lists their kinds and their needs.
macro_rules! generators {
    ($($name:ident),+ $(,)?) => {
        aqmlab_core::kinds! {
            dyn App:
            $($name),+
        }

        /// The needs of every kind, in one list for each module.
        const NEEDS: &[&[Needs]] = &[$($name::NEEDS),+];
    };
}

generators! {
    bulk,
    bursts,
    telemetry,
    mqtt,
    coap,
    cbr,
    webrtc_call,
    voip,
    game,
    dash,
    web,
    irtt,
    ping,
    rpm,
    cake_autorate,
}

/// Returns the needs of every kind.
pub fn all_needs() -> impl Iterator<Item = &'static Needs> {
    NEEDS.iter().flat_map(|needs| needs.iter())
}

/// Returns the needs of the kind called `kind`, if there are any.
pub fn needs_of(kind: &str) -> Option<&'static Needs> {
    all_needs().find(|needs| needs.kind == kind)
}
