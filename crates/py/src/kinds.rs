//! Converts the registries and the facts about scenarios to Python values.

use aqmlab_apps::needs::Measure;
use aqmlab_apps::requirements::{self, Percentile, Range};
use aqmlab_core::{Args, Kind, Param, Value};
use aqmlab_trial::{dscp, scenario};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

/// Returns lists of entries by registry: `disciplines`, `apps`, `tcp`, `profiles` and
/// `requirements`.
pub(crate) fn to_python(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    all.set_item("disciplines", kinds(py, aqmlab_qdisc::kinds::all())?)?;
    let apps = kinds(py, aqmlab_apps::kinds::all())?;
    for (kind, entry) in aqmlab_apps::kinds::all().zip(&apps) {
        entry.set_item("needs", needs(py, kind.name)?)?;
        let app = (kind.build)(&Args::defaults(kind.params));
        entry.set_item("on_gateway", app.sets_shapers())?;
    }
    all.set_item("apps", apps)?;
    all.set_item("tcp", kinds(py, aqmlab_tcp::cc::kinds::all())?)?;
    let profiles = PyList::empty(py);
    for profile in aqmlab_tcp::Profile::all() {
        let entry = entry(py, profile.name, profile.summary(), profile.source())?;
        let params = PyList::empty(py);
        for declared in aqmlab_tcp::Profile::settings(profile.stack) {
            let default = profile.get(declared.name).unwrap_or(declared.default);
            params.append(param(py, &Param { default, ..*declared })?)?;
        }
        entry.set_item("params", params)?;
        entry.set_item("default_cc", profile.default_cc)?;
        profiles.append(entry)?;
    }
    all.set_item("profiles", profiles)?;
    all.set_item("requirements", requirements(py)?)?;
    Ok(all)
}

/// Returns the sets of requirements for the Quality of Outcome.
fn requirements(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for set in requirements::ALL {
        let entry = PyDict::new(py);
        let pair = |range: Range| (range.optimal, range.unacceptable);
        let latency: Vec<_> =
            set.latency_ms.iter().map(|(one, range)| (one.name(), pair(*range))).collect();
        entry.set_item("name", set.name)?;
        entry.set_item("source", set.source)?;
        entry.set_item("latency_ms", latency)?;
        entry.set_item("loss_percent", set.loss_percent.map(pair))?;
        entry.set_item("rate_mbit", set.rate_mbit)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// Returns the names of the percentiles that a requirement may limit.
#[pyfunction]
pub(crate) fn requirement_percentiles() -> Vec<&'static str> {
    Percentile::ALL.map(Percentile::name).to_vec()
}

/// Returns the needs of an application's kind, the texts for its verdicts and the name of its
/// requirement. The dictionary is empty for a kind without needs.
fn needs<'py>(py: Python<'py>, kind: &str) -> PyResult<Bound<'py, PyDict>> {
    let (all, list) = (PyDict::new(py), PyList::empty(py));
    let Some(stated) = aqmlab_apps::kinds::needs_of(kind) else { return Ok(all) };
    for need in stated.needs {
        let entry = PyDict::new(py);
        entry.set_item("name", need.name)?;
        entry.set_item("unit", need.unit)?;
        entry.set_item("good", need.good)?;
        entry.set_item("tolerable", need.tolerable)?;
        entry.set_item("more_is_better", need.more_is_better)?;
        entry.set_item("measure", measure(need.measure))?;
        entry.set_item("at_most", need.at_most)?;
        entry.set_item("felt", need.felt)?;
        entry.set_item("source", need.source)?;
        list.append(entry)?;
    }
    all.set_item("needs", list)?;
    all.set_item("fine", stated.fine)?;
    all.set_item("note", stated.note)?;
    all.set_item("requirement", stated.requirement.map(|set| set.name))?;
    Ok(all)
}

/// Returns the names of the columns of `flows`, or of the metrics of `apps`, from which a need's
/// value follows.
fn measure(measure: Measure) -> Vec<&'static str> {
    match measure {
        Measure::Own(metrics) => metrics.to_vec(),
        Measure::OneWayDelay => vec!["owd_p95_ms"],
        Measure::RoundTrip => vec!["rtt_p95_ms"],
        Measure::Loss => vec!["loss_percent"],
        Measure::Rate | Measure::FairShare => vec!["throughput_mean_mbit"],
        Measure::TransferTime => vec!["completion_time_s"],
    }
}

fn kinds<T: ?Sized + 'static>(
    py: Python<'_>,
    kinds: impl Iterator<Item = &'static Kind<T>>,
) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for kind in kinds {
        let entry = entry(py, kind.name, kind.summary, kind.source)?;
        let params = PyList::empty(py);
        for declared in kind.params {
            params.append(param(py, declared)?)?;
        }
        entry.set_item("params", params)?;
        list.append(entry)?;
    }
    Ok(list)
}

fn entry<'py>(
    py: Python<'py>,
    name: &str,
    summary: &str,
    source: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", name)?;
    entry.set_item("summary", summary)?;
    entry.set_item("source", source)?;
    Ok(entry)
}

fn param<'py>(py: Python<'py>, param: &Param) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", param.name)?;
    entry.set_item("type", param.default.type_name())?;
    entry.set_item("text", param.default.to_string())?;
    entry.set_item("doc", param.doc)?;
    entry.set_item("choices", Vec::<&str>::new())?;
    if let Some((least, most)) = param.bounds.ends(param.default) {
        entry.set_item("least", base_units(least))?;
        entry.set_item("most", base_units(most))?;
    }
    match param.default {
        Value::Duration(span) | Value::MaybeDuration(Some(span)) => {
            entry.set_item("default", span.as_nanos())?;
        }
        Value::MaybeDuration(None) | Value::MaybeRate(None) => {
            entry.set_item("default", py.None())?;
        }
        Value::Count(count) => entry.set_item("default", count)?,
        Value::Bytes(size) => entry.set_item("default", size.0)?,
        Value::Rate(rate) | Value::MaybeRate(Some(rate)) => {
            entry.set_item("default", rate.as_bps())?;
        }
        Value::Number(number) => entry.set_item("default", number)?,
        Value::Flag(flag) => entry.set_item("default", flag)?,
        Value::Word(word, choices) => {
            entry.set_item("default", word)?;
            entry.set_item("choices", choices.to_vec())?;
        }
    }
    Ok(entry)
}

/// One end of a parameter's bounds, as a Python number.
#[derive(IntoPyObject)]
enum End {
    Whole(u64),
    Real(f64),
}

fn base_units(value: Value) -> Option<End> {
    match value {
        Value::Duration(span) => Some(End::Whole(span.as_nanos())),
        Value::Count(count) => Some(End::Whole(count)),
        Value::Bytes(size) => Some(End::Whole(size.0)),
        Value::Rate(rate) => Some(End::Whole(rate.as_bps())),
        Value::Number(number) => Some(End::Real(number)),
        Value::MaybeDuration(_) | Value::MaybeRate(_) | Value::Flag(_) | Value::Word(..) => None,
    }
}

/// Returns the numbers of the Differentiated Services codepoints (DSCP) by name.
#[pyfunction]
pub(crate) fn codepoints(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for (name, codepoint) in dscp::CODEPOINTS {
        all.set_item(name, codepoint)?;
    }
    Ok(all)
}

/// Returns the overheads of lines by name, each with the members that are not zero.
#[pyfunction]
pub(crate) fn overheads(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for (name, known) in scenario::OVERHEADS {
        let entry = PyDict::new(py);
        let sizes =
            [("bytes", known.bytes), ("minimum", known.minimum), ("counted", known.counted)];
        for (member, size) in sizes.into_iter().filter(|(_, size)| size.0 > 0) {
            entry.set_item(member, size.0)?;
        }
        if known.atm {
            entry.set_item("atm", true)?;
        }
        all.set_item(name, entry)?;
    }
    Ok(all)
}

/// Returns the defaults of the scenario's keys with durations, in nanoseconds by key.
#[pyfunction]
pub(crate) fn scenario_defaults(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let all = PyDict::new(py);
    for (key, value) in [
        ("duration", scenario::DURATION),
        ("rtt", scenario::RTT),
        ("host_jitter", scenario::HOST_JITTER),
        ("start_jitter", scenario::START_JITTER),
    ] {
        all.set_item(key, value.as_nanos())?;
    }
    Ok(all)
}
