"""Trials without the parameters that state the default of their kind.

`pfifo` and `pfifo limit=1000` make the same trial, although the texts of the trials differ. The
texts are part of the keys of campaigns and stay as the user stated the trial. A comparison of
trials uses this form. The defaults are those of the core's catalogue, which the core itself sets
before it sets the stated parameters (`crates/trial/src/arguments.rs`). An absent congestion control
is the profile's own (`crates/trial/src/endpoint.rs`).
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import replace

from aqmlab.engines.trial_spec import AppSpec, Argument, KindSpec, LinkSpec, TcpSpec, TrialSpec
from aqmlab.scenario import catalogue


def without_defaults(spec: TrialSpec) -> TrialSpec:
    """A trial that gives the same packets as `spec` and states no default of a kind.

    Unchanged parts are those of `spec`.
    """
    return replace(spec, links=tuple(map(_link, spec.links)), apps=tuple(map(_app, spec.apps)))


def _link(link: LinkSpec) -> LinkSpec:
    qdisc = _kind("disciplines", link.qdisc)
    return link if qdisc is link.qdisc else replace(link, qdisc=qdisc)


def _app(app: AppSpec) -> AppSpec:
    kind, home, wan = _kind("apps", app.app), _tcp(app.home), _tcp(app.wan)
    same = kind is app.app and home is app.home and wan is app.wan
    return app if same else replace(app, app=kind, home=home, wan=wan)


def _tcp(tcp: TcpSpec) -> TcpSpec:
    if tcp.cc is None and not tcp.settings:
        return tcp
    profile = catalogue.load()["profiles"][tcp.profile]
    cc = tcp.cc and _kind("tcp", tcp.cc)
    if cc is not None and cc.kind == profile.default_cc and not cc.params:
        cc = None
    return replace(tcp, cc=cc, settings=_stated(profile, tcp.settings))


def _kind(family: str, one: KindSpec) -> KindSpec:
    if not one.params:
        return one
    params = _stated(catalogue.load()[family][one.kind], one.params)
    return one if len(params) == len(one.params) else replace(one, params=params)


def _stated(kind: catalogue.Kind, params: Mapping[str, Argument]) -> dict[str, Argument]:
    """The members of `params` that differ from the defaults of `kind`."""
    return {
        name: value
        for name, value in params.items()
        if name not in kind.params or value != kind.params[name].default
    }
