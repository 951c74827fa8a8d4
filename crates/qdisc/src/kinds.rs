//! The disciplines, one per file. To add a discipline, write its file and add its name to the list
//! below.

use crate::Qdisc;

aqmlab_core::kinds! {
    dyn Qdisc:
    fifo,
    pfifo_fast,
    codel,
    fq_codel,
    fq_nocodel,
    sfq,
    pie,
    fq_pie,
    dualpi2,
    red,
    ared,
    cake,
}
