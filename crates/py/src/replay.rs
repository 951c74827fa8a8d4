//! Compares a discipline with a recording of another implementation.

use aqmlab_sim::replay::{self, Recording};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Compares a discipline with a recording, operation by operation. Returns a dictionary with the
/// number of equal `operations`, and the packets `offered`, `given`, `dropped` and `marked` in
/// them. It also has the operations `moved` before a timer update, the updates `late` by a tick,
/// and the first `difference` or None. Raises `ValueError` for an incomplete recording.
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
