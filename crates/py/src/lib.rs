//! `aqmlab._core`: the simulator, the measurement and the catalogue of kinds, for Python.
//!
//! No packet is passed to Python: one call runs a trial and returns columns.

mod kinds;
mod replay;
mod spp;
mod stream;
mod table;
mod verdicts;

use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Runs one trial.
///
/// `spec_json` is a resolved trial. `captures` names two files for the packets: one for the home's
/// tap and one for the internet's. Returns a dictionary of `digest` (16 hexadecimal digits),
/// `events`, `packets` and `tables` (each a `Table`, by name). Raises `ValueError` for a trial that
/// cannot be run. Raises `OSError` for a file that cannot be written, and for `captures` with a
/// trial that does not keep its packets.
#[pyfunction]
#[pyo3(signature = (spec_json, captures=None))]
fn run<'py>(
    py: Python<'py>,
    spec_json: &str,
    captures: Option<(String, String)>,
) -> PyResult<Bound<'py, PyDict>> {
    let outcome = py.detach(move || -> PyResult<_> {
        let spec = aqmlab_trial::parse(spec_json)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let outcome =
            aqmlab_sim::run(&spec).map_err(|error| PyValueError::new_err(error.to_string()))?;
        if let Some((home, wan)) = captures {
            write_captures(&outcome, &home, &wan)?;
        }
        Ok(outcome)
    })?;
    let result = PyDict::new(py);
    result.set_item("digest", outcome.digest.to_string())?;
    result.set_item("events", outcome.events)?;
    result.set_item("packets", outcome.packets)?;
    let tables = PyDict::new(py);
    for (name, table) in outcome.tables {
        tables.set_item(name, table::Table::from(table))?;
    }
    result.set_item("tables", tables)?;
    Ok(result)
}

/// Checks a trial without running it. Returns `None`, or the place of the problem and the problem.
///
/// `spec_json` is a resolved trial. The check finds every problem for which `run` refuses a trial.
#[pyfunction]
fn check(spec_json: &str) -> Option<(String, String)> {
    let wrong = aqmlab_trial::parse(spec_json).and_then(|spec| aqmlab_trial::check(&spec)).err()?;
    Some((wrong.at, wrong.problem))
}

/// Returns the data rate in bit/s of the 802.11n modulation and coding scheme `mcs`, or `None` if
/// the scheme or the channel width does not exist.
#[pyfunction]
fn wifi_rate(mcs: u8, width_mhz: u32, short_guard: bool) -> Option<u64> {
    aqmlab_trial::link::wifi_rate(mcs, width_mhz, short_guard)
}

/// Returns the JSON Schema of a resolved trial, as text.
#[pyfunction]
fn trial_schema() -> String {
    aqmlab_trial::spec::json_schema().to_string()
}

/// Returns the JSON Schema of the advice, as text.
#[pyfunction]
fn advice_schema() -> String {
    aqmlab_advice::json_schema().to_string()
}

/// Returns the Unix time that stands for a trial's start in its captures, in seconds.
#[pyfunction]
fn capture_epoch_s() -> u64 {
    aqmlab_measure::capture::EPOCH.as_nanos() / 1_000_000_000
}

/// Returns the step of a trial's series in nanoseconds: `step_ns`, doubled until at most `points`
/// steps fit into `duration_ns`.
#[pyfunction]
fn series_step_ns(step_ns: u64, duration_ns: u64, points: u64) -> u64 {
    aqmlab_trial::coarsen(step_ns, duration_ns, points)
}

/// Composes the trial of a scenario without loops. The web page composes its trials with the same
/// code. The scenario and the trial are JSON texts.
///
/// Raises `ValueError` with the place and the problem if the scenario has keys that the page does
/// not offer, or if the trial cannot be run.
#[pyfunction]
fn compose(scenario_json: &str, seed: u64) -> PyResult<String> {
    let composed = aqmlab_compose::from_json(scenario_json, seed)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    text(&composed.spec)
}

/// Returns the JSON text of a trial with all members, including those that the input omits. The
/// members have the order of the core's type.
///
/// Trials that the core reads as equal have the same text. Raises `ValueError` if `spec_json` is
/// not a resolved trial.
#[pyfunction]
fn complete(spec_json: &str) -> PyResult<String> {
    let spec =
        aqmlab_trial::parse(spec_json).map_err(|error| PyValueError::new_err(error.to_string()))?;
    text(&spec)
}

fn text(spec: &aqmlab_trial::Spec) -> PyResult<String> {
    serde_json::to_string(spec).map_err(|error| PyValueError::new_err(error.to_string()))
}

fn write_captures(outcome: &aqmlab_sim::Outcome, home: &str, wan: &str) -> PyResult<()> {
    let create = |path: &str| {
        std::fs::File::create(path)
            .map(std::io::BufWriter::new)
            .map_err(|error| PyOSError::new_err(format!("{path}: {error}")))
    };
    outcome
        .write_captures(create(home)?, create(wan)?)
        .map_err(|error| PyOSError::new_err(format!("{home}, {wan}: {error}")))
}

/// Returns everything that a scenario may name. Disciplines, applications, congestion controllers
/// and TCP profiles have their parameters, defaults in base units and sources. Sets of requirements
/// have their values and sources.
#[pyfunction]
fn catalogue(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    kinds::to_python(py)
}

/// Returns the commands that set up the gateway `gateway`. The argument and the result are JSON.
///
/// Raises `ValueError` if `gateway` is not the JSON of a gateway.
#[pyfunction]
fn gateway_settings(gateway: &str) -> PyResult<String> {
    aqmlab_advice::settings(gateway).map_err(PyValueError::new_err)
}

/// Returns the advice that follows from the runs in `evidence`. The argument and the result are
/// JSON.
///
/// Raises `ValueError` if `evidence` is not JSON of the form of `aqmlab_advice::Evidence`.
#[pyfunction]
fn advice(evidence: &str) -> PyResult<String> {
    aqmlab_advice::advice(evidence).map_err(PyValueError::new_err)
}

/// Returns an activity with its user, as sentences name it. `who` is empty for a device that
/// belongs to nobody.
#[pyfunction]
fn owned_activity(who: &str, title: &str) -> String {
    aqmlab_advice::owned(who, title)
}

/// Returns the version of the core's package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(trial_schema, module)?)?;
    module.add_function(wrap_pyfunction!(compose, module)?)?;
    module.add_function(wrap_pyfunction!(complete, module)?)?;
    module.add_function(wrap_pyfunction!(spp::spp, module)?)?;
    module.add_function(wrap_pyfunction!(replay::compare, module)?)?;
    module.add_function(wrap_pyfunction!(wifi_rate, module)?)?;
    module.add_function(wrap_pyfunction!(gateway_settings, module)?)?;
    module.add_function(wrap_pyfunction!(capture_epoch_s, module)?)?;
    module.add_function(wrap_pyfunction!(series_step_ns, module)?)?;
    module.add_function(wrap_pyfunction!(advice, module)?)?;
    module.add_function(wrap_pyfunction!(advice_schema, module)?)?;
    module.add_function(wrap_pyfunction!(owned_activity, module)?)?;
    module.add_function(wrap_pyfunction!(kinds::codepoints, module)?)?;
    module.add_function(wrap_pyfunction!(kinds::overheads, module)?)?;
    module.add_function(wrap_pyfunction!(kinds::scenario_defaults, module)?)?;
    module.add_function(wrap_pyfunction!(kinds::requirement_percentiles, module)?)?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_class::<table::Table>()?;
    table::register(module.py())?;
    module.add_class::<verdicts::Judge>()?;
    module.add_function(wrap_pyfunction!(verdicts::flow_numbers, module)?)?;
    module.add_function(wrap_pyfunction!(verdicts::app_metrics, module)?)?;
    module.add_function(wrap_pyfunction!(verdicts::estimate, module)?)?;
    module.add_function(wrap_pyfunction!(verdicts::difference, module)?)?;
    module.add_function(wrap_pyfunction!(verdicts::quantity, module)?)?;
    module.add_function(wrap_pyfunction!(verdicts::service, module)?)?;
    module.add_function(wrap_pyfunction!(verdicts::report_schema, module)?)?;
    module.add_function(wrap_pyfunction!(verdicts::verdict_words, module)?)?;
    Ok(())
}
