//! Compares a discipline with a recording of another implementation.

use aqmlab_sim::replay::{self, Recording};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Compares a discipline with a recording, operation by operation, up to the first difference.
/// Returns a dictionary. `operations` is the number of equal operations. `offered`, `given`,
/// `dropped` and `marked` are the numbers of packets enqueued, dequeued, dropped and marked in
/// them. `moved` is the number of operations that were moved before a timer update. `late` is the
/// number of updates that were late by a tick. `difference` describes the first difference, or is
/// None. Raises `ValueError` for a text that is not a complete recording.
#[pyfunction]
pub(crate) fn compare<'py>(py: Python<'py>, recording_json: &str) -> PyResult<Bound<'py, PyDict>> {
    let found = py
        .detach(|| {
            let recording: Recording =
                serde_json::from_str(recording_json).map_err(|error| error.to_string())?;
            replay::replay(&recording).map_err(|error| error.to_string())
        })
        .map_err(PyValueError::new_err)?;
    let result = PyDict::new(py);
    for (name, value) in [
        ("operations", found.operations),
        ("offered", found.offered),
        ("given", found.given),
        ("dropped", found.dropped),
        ("marked", found.marked),
        ("moved", found.moved),
        ("late", found.late),
    ] {
        result.set_item(name, value)?;
    }
    result.set_item("difference", found.difference)?;
    Ok(result)
}
