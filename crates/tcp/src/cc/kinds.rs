//! The registered controllers. To add a controller, write its file and add its name to the list
//! below.

use crate::cc::CongestionControl;

aqmlab_core::kinds! {
    dyn CongestionControl:
    newreno,
    reno,
    cubic,
    compound,
    bbr,
    bbr3,
    dctcp,
    prague,
}
