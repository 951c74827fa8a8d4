//! Passes verdicts, and statistics over seeds, to Python.

use aqmlab_verdict::rows::FLOW_NUMBERS;
use aqmlab_verdict::statistics::{self, BySeed, Estimate};
use aqmlab_verdict::{AppRow, FlowRow, Service, Stated, Trial, Verdict, Word};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A row of `flows`: application, direction, whether the direction is primary, and the values of
/// the columns `FLOW_NUMBERS`.
type FlowValues = (String, String, bool, [f64; FLOW_NUMBERS.len()]);

/// A median over seeds, the ends of its interval, and the number of seeds.
type EstimateValues = (f64, f64, f64, usize);

/// Collects trials, and judges their applications.
#[pyclass]
#[derive(Default)]
pub(crate) struct Judge(aqmlab_verdict::Judge);

#[pymethods]
impl Judge {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Adds a trial of a condition. `spec_json` is a resolved trial, and `stated_json` holds the
    /// needs that its scenario states: `limits_ms`, `rates_mbit` and `requirements`, by
    /// application. `flows` and `apps` hold the rows of the trial's tables. Raises `ValueError` if
    /// either text cannot be read.
    fn add(
        &mut self,
        condition_and_seed: (u32, u64),
        spec_json: &str,
        stated_json: &str,
        flows: Vec<FlowValues>,
        apps: Vec<(String, String, f64)>,
    ) -> PyResult<()> {
        let trial = Trial::parse(spec_json).map_err(PyValueError::new_err)?;
        let stated: Stated = serde_json::from_str(stated_json)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let flow =
            |(flow, direction, primary, numbers)| FlowRow { flow, direction, primary, numbers };
        let flows: Vec<FlowRow> = flows.into_iter().map(flow).collect();
        let app = |(flow, metric, value)| AppRow { flow, metric, value };
        let apps: Vec<AppRow> = apps.into_iter().map(app).collect();
        self.0.add(condition_and_seed, &trial, (&flows, &apps), &stated);
        Ok(())
    }

    /// Returns the verdicts as JSON: a list of `aqmlab_verdict::Report`.
    fn verdicts_json(&self) -> PyResult<String> {
        let reports: Vec<_> = self.0.verdicts().iter().map(Verdict::report).collect();
        serde_json::to_string(&reports).map_err(|error| PyValueError::new_err(error.to_string()))
    }
}

/// Returns the JSON Schema of a verdict, as text.
#[pyfunction]
pub(crate) fn report_schema() -> String {
    aqmlab_verdict::report::json_schema().to_string()
}

/// Returns the names of the numeric columns of `flows` whose values `Judge.add` takes, in the order
/// of the values.
#[pyfunction]
pub(crate) fn flow_numbers() -> Vec<&'static str> {
    FLOW_NUMBERS.to_vec()
}

/// Returns the metrics of `apps` that `Judge.add` reads.
#[pyfunction]
pub(crate) fn app_metrics() -> Vec<&'static str> {
    aqmlab_verdict::rows::app_metrics().into_iter().collect()
}

/// Returns the median of `values`, the ends of its interval, and the number of values. The
/// confidence is at least 95 % for six or more values. Returns `None` without values.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a list of Python is copied")]
pub(crate) fn estimate(values: Vec<f64>) -> Option<EstimateValues> {
    statistics::estimate(&values).map(parts)
}

/// Returns the statistics of [`estimate`] for the paired differences of `these` from `baseline`.
/// Both arguments are lists of pairs of a seed and its value. Returns `None` without a seed that
/// has a value in both.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "a list of Python is copied")]
pub(crate) fn difference(these: BySeed, baseline: BySeed) -> Option<EstimateValues> {
    statistics::difference(&these, &baseline).map(parts)
}

/// Counts applications, given the words of their verdicts. Returns the numbers of judged, of bad
/// and of judged but not good applications, and whether applications were judged and none of them
/// is bad. Raises `ValueError` for an unknown word.
#[pyfunction]
pub(crate) fn service(words: Vec<String>) -> PyResult<(usize, usize, usize, bool)> {
    let words: Result<Vec<Word>, String> = words.into_iter().map(Word::try_from).collect();
    let counted = Service::of(words.map_err(PyValueError::new_err)?);
    Ok((counted.judged, counted.bad, counted.not_good(), counted.serves()))
}

/// Returns all words that a verdict can have, the worst first.
#[pyfunction]
pub(crate) fn verdict_words() -> [&'static str; 5] {
    Word::WORST_FIRST.map(Word::text)
}

/// Formats a number with its unit, for people.
#[pyfunction]
pub(crate) fn quantity(value: f64, unit: &str) -> String {
    aqmlab_verdict::wording::quantity(value, unit)
}

fn parts(found: Estimate) -> EstimateValues {
    (found.median, found.low, found.high, found.seeds)
}
