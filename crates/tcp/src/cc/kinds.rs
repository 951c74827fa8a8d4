//! The registered controllers. A new controller is one file, and its name in the list below.

use crate::cc::CongestionControl;

aqmlab_core::kinds! {
    dyn CongestionControl:
    newreno,
    reno,
    cubic,
    compound,
    bbr,
}
