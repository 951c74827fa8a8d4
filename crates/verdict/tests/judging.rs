//! Verdicts on tables that were computed by hand: fair shares, transfers, applications without
//! data, stated needs, and limits that a measure lowers.

use aqmlab_verdict::rows::FLOW_NUMBERS;
use aqmlab_verdict::{AppRow, FlowRow, Judge, Report, Stated, Trial, Verdict, Word};
use serde_json::{Value, json};

/// Returns a row of `flows` for a direction of the application `flow`. Columns that are not in
/// `known` have no value.
fn flow(flow: &str, direction: &str, known: &[(&str, f64)]) -> FlowRow {
    let value = |name| known.iter().find(|(one, _)| *one == name).map_or(f64::NAN, |one| one.1);
    FlowRow {
        flow: flow.to_owned(),
        direction: direction.to_owned(),
        primary: true,
        numbers: FLOW_NUMBERS.map(value),
    }
}

/// Returns a row of `flows` for a direction with a mean rate in Mbit/s over an active interval in
/// seconds.
fn at(name: &str, direction: &str, mbit: f64, [from, to]: [f64; 2]) -> FlowRow {
    let known = [("throughput_mean_mbit", mbit), ("active_from_s", from), ("active_to_s", to)];
    flow(name, direction, &known)
}

fn own(flow: &str, metric: &str, value: f64) -> AppRow {
    AppRow { flow: flow.to_owned(), metric: metric.to_owned(), value }
}

/// Returns an application that starts at once, with link 0 upstream and link 1 downstream.
fn app(name: &str, kind: &str, params: &Value) -> Value {
    json!({
        "name": name, "app": { "kind": kind, "params": params }, "start_ns": 0,
        "up": { "links": [0] }, "down": { "links": [1] },
    })
}

/// Returns a trial of 60 s with links of 2 Mbit/s up and 10 Mbit/s down.
fn home(apps: &[Value]) -> Value {
    let links = json!([{ "rate_bps": 2_000_000 }, { "rate_bps": 10_000_000 }]);
    json!({ "duration_ns": 60_000_000_000_u64, "links": links, "apps": apps })
}

fn judged(trial: &Value, flows: &[FlowRow], apps: &[AppRow], stated: &Stated) -> Vec<Report> {
    let trial = Trial::parse(&trial.to_string()).expect("it is a trial");
    let mut judge = Judge::default();
    judge.add((0, 1), &trial, (flows, apps), stated);
    judge.verdicts().iter().map(Verdict::report).collect()
}

/// Returns the word for the first application, and the reason of the verdict.
fn first(trial: &Value, flows: &[FlowRow], apps: &[AppRow]) -> (Word, String) {
    let found = judged(trial, flows, apps, &Stated::default()).swap_remove(0);
    (found.word, found.because)
}

#[test]
fn a_transfer_is_compared_with_what_the_others_leave_while_it_runs() {
    let trial = home(&[app("a", "bulk", &json!({})), app("b", "bulk", &json!({}))]);
    // `b` has 3 Mbit/s for the second half of the interval of `a`, which is 1.5 Mbit/s over the
    // whole interval. `a` has 6 Mbit/s all the time.
    let flows = [at("a", "down", 6.0, [0.0, 60.0]), at("b", "down", 3.0, [30.0, 60.0])];
    let found = judged(&trial, &flows, &[], &Stated::default());
    let texts: Vec<&str> = found.iter().map(|one| one.because.as_str()).collect();
    assert_eq!(
        texts,
        [
            "fair share reached 71 % ≥ 50 %, 6 of 8.5 Mbit/s: 2.5 Mbit/s unused",
            "fair share reached 60 % ≥ 50 %, 3 of 5 Mbit/s: 1 Mbit/s unused, \
             1 Mbit/s taken by others",
        ]
    );
}

/// Three transfers begin 20 s apart and run for 60 s. Each gets an equal part all the time. The
/// mean of `a` and `c` includes 20 s alone on the link, which is no demand beside `b`. The mean of
/// `b` includes 20 s beside both, which is no smaller demand beside one.
#[test]
fn what_a_transfer_got_while_it_was_alone_is_no_demand_beside_others() {
    let trial = home(&["a", "b", "c"].map(|name| app(name, "bulk", &json!({}))));
    let third = 10.0 / 3.0;
    let [first, second] = [(10.0 + 5.0 + third) / 3.0, (5.0 + third + 5.0) / 3.0];
    let flows = [
        at("a", "down", first, [0.0, 60.0]),
        at("b", "down", second, [20.0, 80.0]),
        at("c", "down", first, [40.0, 100.0]),
    ];
    let found = judged(&trial, &flows, &[], &Stated::default());
    for one in found {
        let percent = one.findings[0].value.expect("it was measured");
        assert!((percent - 100.0).abs() < 1e-9, "{}", one.because);
    }
}

#[test]
fn another_direction_and_an_acknowledging_one_take_nothing() {
    let trial = home(&[app("a", "bulk", &json!({})), app("b", "bulk", &json!({}))]);
    let acks = FlowRow { primary: false, ..at("a", "up", 0.1, [0.0, 60.0]) };
    let flows = [at("a", "down", 10.0, [0.0, 60.0]), at("b", "up", 1.9, [0.0, 60.0]), acks];
    let found = judged(&trial, &flows, &[], &Stated::default());
    assert_eq!(found[0].because, "fair share reached 100 % ≥ 50 %");
    assert_eq!(found[1].because, "fair share reached 100 % ≥ 50 %");
}

#[test]
fn the_worse_direction_decides() {
    let trial = home(&[app("a", "bulk", &json!({}))]);
    for (up, down) in [(0.2, 9.0), (1.8, 1.0)] {
        let flows = [at("a", "up", up, [0.0, 60.0]), at("a", "down", down, [0.0, 60.0])];
        let (word, because) = first(&trial, &flows, &[]);
        assert_eq!(word, Word::Bad, "{because}");
        assert!(because.starts_with("fair share reached 10 % < 12.5 %"), "{because}");
    }
}

#[test]
fn the_slowest_link_of_a_route_is_shared() {
    let mut trial = home(&[app("a", "bulk", &json!({}))]);
    trial["apps"][0]["down"]["links"] = json!([1, 0]);
    let (_, because) = first(&trial, &[at("a", "down", 1.0, [0.0, 60.0])], &[]);
    assert_eq!(because, "fair share reached 50 % ≥ 50 %, 1 of 2 Mbit/s: 1 Mbit/s unused");
}

#[test]
fn the_capacity_is_that_of_full_sized_packets() {
    // A packet of 1,500 bytes and 40 of overhead takes 33 cells of 53 bytes, which is 1,749 bytes.
    for (link, capacity) in [
        (json!({ "rate_bps": 10_000_000, "overhead": { "bytes": 0 } }), 10.0),
        (json!({ "rate_bps": 10_000_000, "overhead": { "bytes": 100 } }), 10.0 * 1500.0 / 1600.0),
        (json!({ "rate_bps": 10_000_000, "overhead": { "minimum": 3000 } }), 5.0),
        (
            json!({ "rate_bps": 10_000_000, "overhead": { "bytes": 40, "atm": true } }),
            10.0 * 1500.0 / 1749.0,
        ),
        // The capacity of a radio is the traffic that it carried.
        (json!({ "rate_bps": 0 }), 4.0),
        (json!({ "rate_bps": 10_000_000, "wifi": { "mcs": 7 } }), 4.0),
    ] {
        let mut trial = home(&[app("a", "bulk", &json!({}))]);
        trial["links"][1] = link.clone();
        let flows = [at("a", "down", 4.0, [0.0, 60.0])];
        let found = judged(&trial, &flows, &[], &Stated::default()).swap_remove(0);
        let share = found.findings[0].value.expect("it has a share");
        assert!((share - 400.0 / capacity).abs() < 1e-9, "{link}: {share}");
    }
}

#[test]
fn a_small_transfer_is_judged_by_its_time() {
    // A row has the parameters, the seconds that the transfer took, the bytes that it read, and the
    // reason of the verdict.
    for (params, took_s, read, want) in [
        (json!({ "size": 5_000_000 }), Some(15.0), 5e6, "transferred in 15 s ≤ 15 s"),
        (json!({ "size": 5_000_000 }), Some(15.1), 5e6, "transferred in 15.1 s > 15 s"),
        (
            json!({ "size": 5_000_000, "parallel": 2 }),
            Some(61.0),
            1e7,
            "transferred in 61 s > 60 s",
        ),
        // This transfer has had a minute; 6 MB are left at 1 Mbit/s.
        (
            json!({ "size": 10_000_000 }),
            None,
            4e6,
            "transferred in 60 s > 15 s, 10 MB in 1 min 48 s (projected)",
        ),
        // Larger transfers have no limit; 5,000,001 bytes are left at 1 Mbit/s.
        (
            json!({ "size": 10_000_001 }),
            None,
            5e6,
            "fair share reached 10 % < 12.5 %, 1 of 10 Mbit/s: 9 Mbit/s unused, \
             10 MB in 1 min 40 s (projected)",
        ),
        (
            json!({ "size": 20_000_000 }),
            Some(16.0),
            2e7,
            "fair share reached 10 % < 12.5 %, 1 of 10 Mbit/s: 9 Mbit/s unused, 20 MB in 16 s",
        ),
    ] {
        let trial = home(&[app("a", "bulk", &params)]);
        let known = [
            ("throughput_mean_mbit", 1.0),
            ("goodput_mbit", 1.0),
            ("active_from_s", 0.0),
            ("active_to_s", 60.0),
        ];
        let mut apps = vec![own("a", "read_bytes", read)];
        apps.extend(took_s.map(|seconds| own("a", "completion_time_s", seconds)));
        let (_, because) = first(&trial, &[flow("a", "down", &known)], &apps);
        assert_eq!(because, want, "{params}");
    }
}

#[test]
fn a_transfer_that_the_trial_cuts_off_early_has_no_time() {
    let mut trial = home(&[app("a", "bulk", &json!({ "size": 5_000_000 }))]);
    trial["duration_ns"] = json!(59_999_999_999_u64);
    let (_, because) = first(&trial, &[at("a", "down", 9.0, [0.0, 59.0])], &[]);
    assert_eq!(because, "fair share reached 90 % ≥ 50 %, 9 of 10 Mbit/s: 1 Mbit/s unused");
}

#[test]
fn tables_without_active_intervals_use_the_schedule() {
    let mut trial = home(&[app("a", "bulk", &json!({})), app("b", "bulk", &json!({}))]);
    trial["apps"][0]["stop_ns"] = json!(30_000_000_000_u64);
    trial["measure"] = json!({ "from_ns": 10_000_000_000_u64 });
    let rate = |name, mbit| flow(name, "down", &[("throughput_mean_mbit", mbit)]);
    // `b` ends after 20 s, in the middle of the 20 s of `a`. Until then the fair share of `a` is
    // 5 Mbit/s, and `b` takes 1 Mbit/s of it.
    let ends = [own("b", "completion_time_s", 20.0)];
    let (_, because) = first(&trial, &[rate("a", 3.5), rate("b", 6.0)], &ends);
    assert_eq!(
        because,
        "fair share reached 47 % < 50 %, 3.5 of 7.5 Mbit/s: 3.5 Mbit/s unused, \
         0.5 Mbit/s taken by others"
    );
}

#[test]
fn an_application_through_which_nothing_comes_is_bad_once_it_has_waited() {
    let with = |sent: f64, received: f64, to: f64, base_ns: u64| {
        let mut trial = home(&[app("a", "video_call", &json!({}))]);
        trial["apps"][0]["up"]["delay_ns"] = json!(base_ns / 2);
        trial["apps"][0]["down"]["delay_ns"] = json!(base_ns / 2);
        let known = [
            ("packets_sent", sent),
            ("packets_received", received),
            ("active_from_s", 0.0),
            ("active_to_s", to),
        ];
        first(&trial, &[flow("a", "up", &known)], &[])
    };
    let (word, because) = with(10.0, 0.0, 1.0, 0);
    assert_eq!(word, Word::Bad);
    assert!(because.starts_with("data arrived 0 % < 100 %, loss 100 % >"), "{because}");
    assert_eq!(with(10.0, 0.0, 0.999, 0).0, Word::NoData);
    assert_eq!(with(0.0, 0.0, 60.0, 0).0, Word::NoData);
    // Data must arrive within three base round-trip times.
    assert_eq!(with(10.0, 0.0, 2.999, 1_000_000_000).0, Word::NoData);
    assert_eq!(with(10.0, 0.0, 3.0, 1_000_000_000).0, Word::Bad);
    assert_eq!(with(10.0, 1.0, 60.0, 0).0, Word::NoData);
}

#[test]
fn a_direction_through_which_nothing_comes_loses_everything() {
    let trial = home(&[app("a", "video_call", &json!({}))]);
    let whole = [("active_from_s", 0.0), ("active_to_s", 60.0), ("owd_p95_ms", 20.0)];
    let up = [("packets_sent", 9.0), ("packets_received", 9.0), ("loss_percent", 0.0)];
    let down = [("packets_sent", 9.0), ("packets_received", 0.0), ("loss_percent", 0.0)];
    let rows = [
        flow("a", "up", &[whole.as_slice(), &up].concat()),
        flow("a", "down", &[&whole[..2], &down].concat()),
    ];
    let (word, because) = first(&trial, &rows, &[]);
    assert_eq!(word, Word::Bad);
    assert!(because.starts_with("loss 100 % > "), "{because}");
}

#[test]
fn a_stated_limit_replaces_the_delay_of_the_kind() {
    let trial = home(&[app("a", "ping", &json!({})), app("b", "dash", &json!({}))]);
    let stated = Stated {
        limits_ms: [("a".to_owned(), 30.0), ("b".to_owned(), 50.0)].into(),
        ..Stated::default()
    };
    let rows =
        [flow("a", "up", &[("rtt_p95_ms", 40.0)]), flow("b", "down", &[("rtt_p95_ms", 40.0)])];
    let found = judged(&trial, &rows, &[own("a", "loss_percent", 0.0)], &stated);
    assert_eq!(found[0].because, "round trips 40 ms > 30 ms");
    assert_eq!(found[0].felt, "whatever needs an answer feels slow");
    let needs = |at: usize| -> Vec<&str> {
        found[at].findings.iter().map(|one| one.need.as_str()).collect()
    };
    assert_eq!(needs(0), ["round trips", "loss"]);
    assert_eq!(needs(1), ["stalled", "starts after", "picture", "round trips"]);
}

#[test]
fn a_stated_rate_replaces_the_fair_share() {
    let trial = home(&[app("a", "bulk", &json!({}))]);
    let stated = Stated { rates_mbit: [("a".to_owned(), 4.0)].into(), ..Stated::default() };
    for (mbit, want) in [(4.0, "rate 4 Mbit/s ≥ 4 Mbit/s"), (3.0, "rate 3 Mbit/s < 4 Mbit/s")] {
        let flows = [at("a", "down", mbit, [0.0, 60.0])];
        let found = judged(&trial, &flows, &[], &stated).swap_remove(0);
        assert!(found.because.starts_with(want), "{}", found.because);
        assert_eq!(found.findings.len(), 1);
    }
}

#[test]
fn a_limit_is_lowered_by_what_was_offered() {
    let trial = home(&[app("a", "dash", &json!({}))]);
    let played = |lines: f64, offered: f64| {
        let metrics = [("picture_mean_lines", lines), ("offered_lines", offered)];
        let mut apps = metrics.map(|(metric, value)| own("a", metric, value)).to_vec();
        // A measure of another application does not count, and neither does a measure that is not a
        // number.
        apps.push(own("b", "picture_mean_lines", 144.0));
        apps.push(own("a", "picture_mean_lines", f64::NAN));
        let found = judged(&trial, &[], &apps, &Stated::default()).swap_remove(0);
        let picture = found.findings.into_iter().find(|one| one.need == "picture");
        let picture = picture.expect("a video has a picture");
        (picture.word, picture.good, picture.tolerable, picture.margin)
    };
    assert_eq!(played(720.0, 1_080.0), (Word::Good, 720.0, 480.0, Some(0.0)));
    assert_eq!(played(630.0, 1_080.0), (Word::Tolerable, 720.0, 480.0, Some(1.0 - 450.0 / 360.0)));
    assert_eq!(played(450.0, 540.0), (Word::Good, 360.0, 240.0, Some(0.5)));
    assert_eq!(played(240.0, 540.0), (Word::Tolerable, 360.0, 240.0, Some(1.0 - 300.0 / 180.0)));
    assert_eq!(played(239.0, 540.0).0, Word::Bad);
    assert_eq!(played(360.0, 2_160.0), (Word::Bad, 720.0, 480.0, Some(1.0 - 720.0 / 360.0)));
}

#[test]
fn conditions_are_judged_apart_and_in_the_order_of_their_trials() {
    let trial = home(&[app("a", "ping", &json!({})), app("b", "unheard of", &json!({}))]);
    let trial = Trial::parse(&trial.to_string()).expect("it is a trial");
    let mut judge = Judge::default();
    for (condition, seed, rtt) in [(7, 1, 10.0), (3, 1, 900.0), (7, 2, 30.0)] {
        let rows = [flow("a", "up", &[("rtt_p95_ms", rtt)])];
        judge.add((condition, seed), &trial, (&rows, &[]), &Stated::default());
    }
    let told: Vec<_> = judge.verdicts().iter().map(Verdict::report).collect();
    let told = told.iter().map(|one| (one.condition, one.app.as_str(), one.seeds, one.word));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (7, "a", 2, Word::Good),
            (7, "b", 2, Word::NoNeeds),
            (3, "a", 1, Word::Bad),
            (3, "b", 1, Word::NoNeeds),
        ]
    );
}

#[test]
fn a_sentence_names_word_effect_numbers_and_notes() {
    let trial = home(&[app("save", "bulk", &json!({ "size": 20_000_000 }))]);
    let known = [("throughput_mean_mbit", 1.0), ("active_from_s", 0.0), ("active_to_s", 60.0)];
    let apps = [own("save", "completion_time_s", 16.0)];
    let found = judged(&trial, &[flow("save", "down", &known)], &apps, &Stated::default());
    assert_eq!(
        found[0].sentence,
        "save: bad, it is slower than its share, fair share reached 10 % (good from 50 %, tolerable from 12.5 %), \
         1 of 10 Mbit/s: 9 Mbit/s unused, 20 MB in 16 s"
    );
    assert_eq!(found[0].findings[0].margin, Some(1.0 - 90.0 / 50.0));
    assert!(found[0].findings[0].decides);
    let nothing =
        judged(&home(&[app("a", "unheard of", &json!({}))]), &[], &[], &Stated::default());
    assert_eq!(nothing[0].sentence, "a: no needs, nothing is known of its needs");
    assert_eq!(nothing[0].felt, "nothing is known of its needs");
}
