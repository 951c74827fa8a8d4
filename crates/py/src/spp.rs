//! Measures pairs of captures of the same traffic (`aqmlab spp`).

use std::fs::File;
use std::io::BufReader;

use aqmlab_core::{Direction, Duration};
use aqmlab_measure::DirectionReport;
use aqmlab_measure::capture::{self, SppReport};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

/// The options besides the two files.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Wishes {
    /// Whether the clocks of the taps agree, which one-way delays require.
    synchronised: bool,
    /// The address translation between the taps: `none`, `addresses` or `ports`.
    translation: String,
    /// Whether to return every round trip.
    samples: bool,
}

impl Default for Wishes {
    fn default() -> Self {
        Self { synchronised: false, translation: "none".into(), samples: false }
    }
}

/// Measures the capture `first` against the capture `second`. Returns a dictionary with counts of
/// packets and the columns of the table `flows`, which has a row for each direction of a flow. With
/// the option `samples`, there is also a table `samples` with every round trip. Its column `row` is
/// the index of the row in `flows`. Its column `at_s` counts from the first packet of the sender's
/// capture, or of either capture if the clocks agree. Raises `ValueError` for captures that cannot
/// be read and for wrong options.
#[pyfunction]
#[pyo3(signature = (first, second, options_json="{}"))]
pub(crate) fn spp<'py>(
    py: Python<'py>,
    first: &str,
    second: &str,
    options_json: &str,
) -> PyResult<Bound<'py, PyDict>> {
    let bad = |text: String| PyValueError::new_err(text);
    let wishes: Wishes =
        serde_json::from_str(options_json).map_err(|error| bad(error.to_string()))?;
    let translation = match wishes.translation.as_str() {
        "none" => capture::Translation::None,
        "addresses" => capture::Translation::Addresses,
        "ports" => capture::Translation::AddressesAndPorts,
        other => {
            return Err(bad(format!("translation: `{other}` is not none, addresses or ports")));
        }
    };
    let open = |path: &str| {
        File::open(path).map(BufReader::new).map_err(|error| bad(format!("{path}: {error}")))
    };
    let (a, b) = (open(first)?, open(second)?);
    let options = capture::Options {
        names: [first.into(), second.into()],
        synchronised: wishes.synchronised,
        keep_samples: wishes.samples,
        translation,
        ..capture::Options::default()
    };
    let report = py
        .detach(|| capture::spp(a, b, &options))
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    let result = to_python(py, &report, wishes.synchronised)?;
    if wishes.samples {
        result.set_item("samples", samples(&report).into_dict(py)?)?;
    }
    Ok(result)
}

/// Returns the columns of the table `samples`. Its rows are in the order of the rows of `flows`.
fn samples(report: &SppReport) -> Columns {
    let mut columns = Columns::default();
    let trips = report.flows.iter().flat_map(|flow| &flow.samples).zip(0_u32..);
    for (trip, row) in trips.flat_map(|(trips, row)| trips.iter().map(move |trip| (trip, row))) {
        columns.number("row", row.into());
        columns.number("at_s", trip.at.as_nanos() as f64 / 1e9);
        columns.number("rtt_ms", trip.rtt.as_secs_f64() * 1e3);
    }
    columns
}

fn to_python<'py>(
    py: Python<'py>,
    report: &SppReport,
    synchronised: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let result = PyDict::new(py);
    for (place, name) in ["first", "second"].into_iter().enumerate() {
        result.set_item(format!("{name}_packets"), report.captures[place].packets)?;
        result.set_item(format!("{name}_matched"), report.captures[place].matched)?;
    }
    result.set_item("left_out", report.left_out)?;
    let mut flows = Columns::default();
    for flow in &report.flows {
        for direction in Direction::BOTH {
            let measured = &flow.report.directions[direction.index()];
            let known = flow.tuple;
            let tuple = if direction == Direction::Up { known } else { known.reversed() };
            flows.text("protocol", protocol(tuple.protocol));
            flows.text("from", tuple.source.to_string());
            flows.text("to", tuple.destination.to_string());
            flows.row(measured, synchronised);
        }
    }
    result.set_item("flows", flows.into_dict(py)?)?;
    Ok(result)
}

fn protocol(number: u8) -> String {
    match number {
        1 => "ICMP".into(),
        6 => "TCP".into(),
        17 => "UDP".into(),
        58 => "ICMPv6".into(),
        other => other.to_string(),
    }
}

/// The columns of a table by name, in the order in which they first appear.
#[derive(Default)]
struct Columns {
    texts: Vec<(&'static str, Vec<String>)>,
    numbers: Vec<(&'static str, Vec<f64>)>,
}

fn column<'a, T>(
    columns: &'a mut Vec<(&'static str, Vec<T>)>,
    name: &'static str,
) -> &'a mut Vec<T> {
    let place = columns.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
        columns.push((name, Vec::new()));
        columns.len() - 1
    });
    &mut columns[place].1
}

impl Columns {
    fn text(&mut self, name: &'static str, text: String) {
        column(&mut self.texts, name).push(text);
    }

    fn number(&mut self, name: &'static str, value: f64) {
        column(&mut self.numbers, name).push(value);
    }

    fn row(&mut self, measured: &DirectionReport, synchronised: bool) {
        let ms = |span: Option<Duration>| span.map_or(f64::NAN, |span| span.as_secs_f64() * 1e3);
        self.number("packets_sent", measured.packets_sent as f64);
        self.number("packets_received", measured.packets_received as f64);
        self.number("bytes_received", measured.bytes_received as f64);
        self.number("loss_percent", 100.0 * measured.loss_ratio());
        self.number("rtt_n", measured.rtt.count() as f64);
        let rtt = measured.rtt.ranks();
        for (name, q) in [
            ("rtt_p5_ms", 0.05),
            ("rtt_p25_ms", 0.25),
            ("rtt_p50_ms", 0.5),
            ("rtt_p75_ms", 0.75),
            ("rtt_p95_ms", 0.95),
            ("rtt_p99_ms", 0.99),
        ] {
            self.number(name, ms(rtt.quantile(q)));
        }
        if synchronised {
            let owd = measured.owd.ranks();
            self.number("owd_p50_ms", ms(owd.quantile(0.5)));
            self.number("owd_p95_ms", ms(owd.quantile(0.95)));
        }
    }

    fn into_dict(self, py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
        let dict = PyDict::new(py);
        for (name, texts) in self.texts {
            dict.set_item(name, texts)?;
        }
        for (name, numbers) in self.numbers {
            dict.set_item(name, numbers)?;
        }
        Ok(dict)
    }
}
