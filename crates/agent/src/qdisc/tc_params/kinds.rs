//! The disciplines of the kernel: their names in the simulator, and their parameters in tc.

/// The form of a parameter in the kernel.
pub(super) enum How {
    /// tc's parameter of this name, which tc shows under the same name.
    Is(&'static str),
    /// The same as [`Is`], but a value of zero is not passed, because tc and the simulator then
    /// compute the value.
    OrComputed(&'static str),
    /// A parameter of tc that cannot be read back. A value of zero is not passed.
    Unread(&'static str),
    /// A switch: tc's words for on and off, and the name under which tc shows it.
    Switch(&'static str, &'static str, &'static str),
    /// The queue length of the device.
    DeviceQueue,
    /// The kernel lacks this parameter. Only the default, which describes the kernel, is accepted.
    Fixed,
    /// A function of the discipline composes tc's words from several parameters.
    Composed,
}

use How::{Composed, DeviceQueue, Fixed, Is, OrComputed, Switch, Unread};

/// A discipline that the kernel has.
pub(super) struct Known {
    /// The simulator's name for the discipline.
    pub(super) ours: &'static str,
    /// The kernel's name for the discipline.
    pub(super) kernel: &'static str,
    /// The simulator's parameters, in the order in which tc expects them.
    pub(super) params: &'static [(&'static str, How)],
    /// Further words of tc's command line; `bandwidth` stands for the rate of the link.
    pub(super) besides: &'static str,
}

const ECN: How = Switch("ecn", "noecn", "ecn");
const BYTEMODE: How = Switch("bytemode", "nobytemode", "bytemode");
const ESTIMATOR: How = Switch("dq_rate_estimator", "no_dq_rate_estimator", "dq_rate_estimator");

/// The kernel's disciplines that a trial can use.
pub(super) const KINDS: &[Known] = &[
    Known { ours: "pfifo", kernel: "pfifo", params: &[("limit", Is("limit"))], besides: "" },
    Known { ours: "bfifo", kernel: "bfifo", params: &[("limit", Is("limit"))], besides: "" },
    Known {
        ours: "pfifo_head_drop",
        kernel: "pfifo_head_drop",
        params: &[("limit", Is("limit"))],
        besides: "",
    },
    Known {
        ours: "pfifo_fast",
        kernel: "pfifo_fast",
        params: &[("limit", DeviceQueue), ("batch", Fixed)],
        besides: "",
    },
    Known {
        ours: "codel",
        kernel: "codel",
        params: &[
            ("limit", Is("limit")),
            ("target", Is("target")),
            ("interval", Is("interval")),
            ("ecn", ECN),
            ("ce_threshold", Is("ce_threshold")),
            ("mtu", Fixed),
        ],
        besides: "",
    },
    Known {
        ours: "fq_codel",
        kernel: "fq_codel",
        params: &[
            ("limit", Is("limit")),
            ("flows", Is("flows")),
            ("quantum", Is("quantum")),
            ("target", Is("target")),
            ("interval", Is("interval")),
            ("memory_limit", Is("memory_limit")),
            ("ecn", ECN),
            ("ce_threshold", Is("ce_threshold")),
            ("ce_threshold_selector", Unread("ce_threshold_selector")),
            ("drop_batch", Is("drop_batch")),
            ("mtu", Fixed),
            ("salt", Fixed),
        ],
        besides: "",
    },
    // A target far above any delay disables CoDel. CoDel's clock has 32 bits of 1.024 µs, and half
    // of that range counts as the future.
    Known {
        ours: "fq_nocodel",
        kernel: "fq_codel",
        params: &[
            ("limit", Is("limit")),
            ("flows", Is("flows")),
            ("quantum", Is("quantum")),
            ("memory_limit", Is("memory_limit")),
            ("drop_batch", Is("drop_batch")),
            ("salt", Fixed),
        ],
        besides: "noecn target 1000s interval 1000s",
    },
    Known {
        ours: "pie",
        kernel: "pie",
        params: &[
            ("limit", Is("limit")),
            ("target", Is("target")),
            ("tupdate", Is("tupdate")),
            ("alpha", Is("alpha")),
            ("beta", Is("beta")),
            ("ecn", ECN),
            ("bytemode", BYTEMODE),
            ("dq_rate_estimator", ESTIMATOR),
            ("mtu", Fixed),
            ("tick", Fixed),
        ],
        besides: "",
    },
    Known {
        ours: "fq_pie",
        kernel: "fq_pie",
        params: &[
            ("limit", Is("limit")),
            ("flows", Is("flows")),
            ("target", Is("target")),
            ("tupdate", Is("tupdate")),
            ("alpha", Is("alpha")),
            ("beta", Is("beta")),
            ("quantum", Is("quantum")),
            ("ecn_prob", Is("ecn_prob")),
            ("ecn", ECN),
            ("bytemode", BYTEMODE),
            ("dq_rate_estimator", ESTIMATOR),
            ("mtu", Fixed),
            ("tick", Fixed),
            ("salt", Fixed),
        ],
        besides: "",
    },
    Known {
        ours: "sfq",
        kernel: "sfq",
        params: &[
            ("limit", Is("limit")),
            ("depth", Is("depth")),
            ("flows", Is("flows")),
            ("divisor", Is("divisor")),
            ("quantum", Is("quantum")),
            ("perturb", Is("perturb")),
            ("headdrop", Switch("headdrop", "", "headdrop")),
            ("salt", Fixed),
        ],
        besides: "",
    },
    Known {
        ours: "red",
        kernel: "red",
        params: &[
            ("limit", Is("limit")),
            ("min", OrComputed("min")),
            ("max", OrComputed("max")),
            ("avpkt", Unread("avpkt")),
            ("burst", Unread("burst")),
            ("probability", Is("probability")),
            ("ecn", Switch("ecn", "", "ecn")),
            ("harddrop", Switch("harddrop", "", "harddrop")),
            ("nodrop", Switch("nodrop", "", "nodrop")),
            ("adaptive", Switch("adaptive", "", "adaptive")),
            ("idle_from", Fixed),
            ("tick", Fixed),
        ],
        besides: "bandwidth",
    },
    Known {
        ours: "cake",
        kernel: "cake",
        params: &[
            ("bandwidth", Composed),
            ("diffserv", Composed),
            ("isolation", Composed),
            ("network", Composed),
            ("rtt", Composed),
            ("link", Composed),
            ("overhead", Composed),
            ("vlans", Composed),
            ("framing", Composed),
            ("mpu", Composed),
            ("memlimit", Composed),
            ("ack_filter", Composed),
            ("ingress", Composed),
            ("autorate_ingress", Composed),
            ("wash", Composed),
            ("mtu", Fixed),
            ("salt", Fixed),
        ],
        besides: "",
    },
];

/// Returns the kernel's discipline, if any, that is closest to the simulator's discipline `kind`.
fn relative(kind: &str) -> Option<&'static str> {
    let likely = match kind {
        "ared" | "red_floyd" => "red",
        "pie_linux_3_14" | "pie_rfc8033" | "pie_freebsd" | "dualpi2" | "dualpi2_rfc" => "pie",
        "fq_codel_linux_3_5" => "fq_codel",
        other => other.strip_suffix("_freebsd").or_else(|| other.strip_suffix("_rfc"))?,
    };
    KINDS.iter().map(|known| known.ours).find(|name| *name == likely)
}

/// Returns the kernel's discipline for a name of the simulator. The error names the nearest
/// discipline, or lists all disciplines.
pub(super) fn find(at: &str, kind: &str) -> Result<&'static Known, String> {
    KINDS.iter().find(|known| known.ours == kind).ok_or_else(|| match relative(kind) {
        Some("red") => format!(
            "{at}.qdisc: `{kind}`: the kernel does not have it; the nearest is `red`, \
             with or without `adaptive`"
        ),
        Some(near) => {
            format!("{at}.qdisc: `{kind}`: the kernel does not have it; the nearest is `{near}`")
        }
        None => {
            let all: Vec<_> = KINDS.iter().map(|known| known.ours).collect();
            format!("{at}.qdisc: `{kind}`: the kernel engine has {}", all.join(", "))
        }
    })
}
