//! Tests the order in which hosts act at one time, and that an application's draws do not depend on
//! other applications.

use aqmlab_sim::Outcome;
use aqmlab_trial::Column;
use serde_json::{Value, json};

use crate::common::{app, home, run};

/// Returns the values of a column of numbers, in the rows of the flow `wanted`.
fn numbers(outcome: &Outcome, table: &str, wanted: &str, column: &str) -> Vec<f64> {
    let table = outcome.table(table).unwrap();
    let Some(Column::Word(flows, words)) = table.column("flow") else { panic!("no flows") };
    let Some(Column::Float(values)) = table.column(column) else { panic!("no {column}") };
    let rows = flows.iter().zip(values);
    rows.filter(|(flow, _)| words[**flow as usize] == wanted).map(|(_, value)| *value).collect()
}

/// Tests that the SYNs of one process leave in the order of its calls, because Linux sends a SYN
/// within connect(2).
#[test]
fn parallel_connections_open_in_the_order_in_which_they_are_opened() {
    let file = app("file", "bulk", &json!({"parallel": 5, "direction": "up"}));
    let mut spec = home(1.0, 0.064, &json!({"kind": "pfifo"}), 20, &[file]);
    spec["host_jitter_ns"] = json!(0);
    let outcome = run(&spec);
    let established = numbers(&outcome, "conns", "file", "established_s");
    assert_eq!(established.len(), 5);
    assert!(established.is_sorted_by(|one, next| one < next), "{established:?}");
}

/// Returns the round-trip times of a ping beside `others`. The ping meets no queue, so each time is
/// the delay of the ping plus the jitter that the ping draws.
fn pings(others: &[Value]) -> Vec<f64> {
    let jittery = json!({"links": [], "delay_ns": 10_000_000, "jitter_ns": 4_000_000});
    let mut ping = app("probe", "ping", &json!({}));
    (ping["up"], ping["down"]) = (jittery.clone(), jittery);
    let apps = [others, &[ping]].concat();
    let spec = home(10.0, 10.0, &json!({"kind": "pfifo"}), 20, &apps);
    numbers(&run(&spec), "app_series", "probe", "value")
}

#[test]
fn the_jitter_of_an_application_does_not_depend_on_others() {
    let alone = pings(&[]);
    assert!(alone.len() > 10, "it measures");
    let mut other = app("other", "cbr", &json!({}));
    // This application has another delay than the ping, so it uses other lines.
    let own = json!({"links": [], "delay_ns": 3_000_000, "jitter_ns": 1_000_000});
    (other["up"], other["down"]) = (own.clone(), own);
    assert_eq!(pings(&[other.clone()]), alone);
    // This application has the ping's delay and jitter. Both share a line, which keeps the
    // order.
    let shared = json!({"links": [], "delay_ns": 10_000_000, "jitter_ns": 4_000_000});
    (other["up"], other["down"]) = (shared.clone(), shared);
    other["start_ns"] = json!(19_999_000_000_u64);
    assert_eq!(pings(&[other]), alone);
}
