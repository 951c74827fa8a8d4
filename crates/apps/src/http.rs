//! The parameters of a request over HTTP, which several kinds share. Their defaults are typical
//! values, not taken from a source.

use aqmlab_core::{Bounds, Param, Value};

use crate::bounds;
use crate::params::bytes;

/// The parameter for the size of an HTTP request.
pub(crate) const REQUEST: Param = Param {
    name: "request",
    default: bytes(400),
    bounds: bounds::MESSAGE,
    doc: "Size of an HTTP request in bytes.",
};

/// The parameter for the size of an HTTP response's header.
pub(crate) const HEADER: Param = Param {
    name: "header",
    default: bytes(300),
    bounds: bounds::MESSAGE,
    doc: "Size of an HTTP response's header in bytes.",
};

/// The parameter for the number of round trips of the TLS handshake over TCP.
pub(crate) const TLS_RTTS: Param = Param {
    name: "tls_rtts",
    default: Value::Count(1),
    bounds: Bounds::Whole(0, 10),
    doc: "Round trips of the TLS handshake over TCP: 1 for TLS 1.3, 2 for TLS 1.2, 0 for none.",
};
