use super::*;
use crate::testing::{Net, build, close, known};

/// Returns the IP rates in kbit/s, up and down, while the game runs.
fn rates(title: &'static str, players: u64) -> [f64; 2] {
    let changes = [
        ("title", Value::Word(title, &[])),
        ("players", Value::Count(players)),
        ("client_delay", ms(0)),
    ];
    let mut net = Net::new(1);
    net.run_secs(&mut *build("game", &changes), 1_000);
    net.ip_bytes.map(|bytes| bytes as f64 * 8.0 / 1e6)
}

#[test]
fn quake_3_has_the_ip_rates_of_pktgen() {
    for (players, want) in [
        (4, 17.98),
        (5, 21.3),
        (6, 24.5),
        (8, 30.9),
        (9, 34.2),
        (12, 43.7),
        (16, 56.7),
        (24, 82.3),
        (32, 108.8),
    ] {
        let [up, down] = rates("q3", players);
        close(down, want, 0.01 * want);
        close(up, 72.4, 0.5);
    }
}

#[test]
fn sleeps_are_too_long_by_half_of_what_is_allowed() {
    let mut net = Net::new(1);
    let changes = [("oversleep", Value::Number(0.0625)), ("client_delay", ms(0))];
    net.run_secs(&mut *build("game", &changes), 1_000);
    close(net.ip_bytes[0] as f64 * 8.0 / 1e6, 72.4 / (1.0 + 0.0625 / 2.0), 0.5);
}

#[test]
fn the_measured_times_of_faerber_have_no_excess() {
    let calls = |oversleep| {
        let changes =
            [("model", Value::Word("faerber", &[])), ("oversleep", Value::Number(oversleep))];
        let mut net = Net::new(1);
        net.run_secs(&mut *build("game", &changes), 20);
        net.ip_bytes
    };
    assert_eq!(calls(1.0), calls(0.0));
}

#[test]
fn the_other_games_have_theirs() {
    for (title, want) in [
        ("hl2cs", 13.8),
        ("hl2dm", 35.2),
        ("hlcs", 10.0),
        ("hldm", 13.3),
        ("et2pro", 16.1),
        ("q4", 29.2),
    ] {
        close(rates(title, 4)[1], want, 0.02 * want);
    }
}

#[test]
fn the_server_waits_for_its_clients() {
    let mut net = Net::new(1);
    let clients = [("clients", Value::Count(3))];
    let summary = net.run_secs(&mut *build("game", &clients), 13);
    close(known(&summary, "sent_up_packets"), 3_000.0, 3.0);
    close(known(&summary, "sent_down_packets"), 3.0 * 10.0 / 0.05, 6.0);
    let first = net.calls.iter().find(|(_, call)| matches!(call, crate::testing::Call::Send(..)));
    assert_eq!(first.unwrap().0, Instant::from_millis(3_000));
}

#[test]
fn counter_strike_has_faerbers_means() {
    let mut net = Net::new(1);
    let model = [("model", Value::Word("faerber", &[])), ("client_delay", ms(0))];
    net.run_secs(&mut *build("game", &model), 1_000);
    // The mean of Ext(a, b) is a + 0.5772 b; rounding down subtracts half a byte on average.
    let mean = |n: usize| net.ip_bytes[n] as f64 / net.packets[n] as f64 - 28.0;
    close(mean(0), 80.0 + 0.5772 * 5.7 - 0.5, 0.3);
    close(mean(1), 120.0 + 0.5772 * 36.0 - 0.5, 1.5);
    close(1e6 / net.packets[1] as f64, 55.0 + 0.5772 * 6.0, 0.3);
}
