//! The generators, one per file. To add a generator, write its file and add its name to the list
//! below.

use crate::App;

aqmlab_core::kinds! {
    dyn App:
    bulk,
    bursts,
    telemetry,
    mqtt,
    coap,
    cbr,
    voip,
    game,
    dash,
    web,
    irtt,
    ping,
}
