//! The generators. To add one, write its file and add its name to the list below.

use crate::App;

aqmlab_core::kinds! {
    dyn App:
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
}
