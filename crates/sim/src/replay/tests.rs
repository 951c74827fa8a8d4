use super::*;

/// Returns a recording of three enqueues to a queue with a limit of two packets, and of three
/// dequeues.
fn recording() -> Recording {
    serde_json::from_str(
        r#"{"qdisc": {"kind": "pfifo", "params": {"limit": 2}},
            "flow": [0, 0, 1], "flow_ecn": [0, 2],
            "offer": [1, 1, 1, 0, 0, 0], "time": [100, 1, 1, 1, 1, 1],
            "id": [0, 1, 2, 0, 1, -1], "len": [64, 64, 64, 0, 0, 0],
            "ecn": [0, 0, 0, 0, 0, 0], "drops": [[2, 2]]}"#,
    )
    .expect("it is a recording")
}

#[test]
fn what_is_the_same_is_counted() {
    let want = Comparison {
        operations: 6,
        offered: 3,
        given: 2,
        dropped: 1,
        marked: 0,
        moved: 0,
        late: 0,
        difference: None,
    };
    assert_eq!(replay(&recording()).unwrap(), want);
}

#[test]
fn every_kind_of_difference_is_found_where_it_is() {
    type Case = (&'static str, usize, fn(&mut Recording));
    let cases: [Case; 5] = [
        ("a drop that was not", 2, |r| r.drops.clear()),
        ("another packet", 3, |r| r.id[3] = 1),
        ("a mark", 4, |r| r.ecn[4] = 3),
        ("a packet where there was none", 5, |r| r.id[5] = 2),
        ("chance", 1, |r| r.draws.push((1, 7))),
    ];
    for (what, place, change) in cases {
        let mut changed = recording();
        change(&mut changed);
        let result = replay(&changed).unwrap();
        assert_eq!(result.operations, place, "{what}");
        let said = result.difference.expect(what);
        assert!(said.starts_with(&format!("operation {place} at")), "{said}");
    }
}

#[test]
fn a_recording_that_is_not_whole_is_refused() {
    let mut cut = recording();
    cut.time.pop();
    assert!(replay(&cut).is_err());
    let unknown = serde_json::from_str::<KindSpec<QdiscKind>>(r#"{"kind": "pfifoo"}"#);
    assert!(unknown.unwrap_err().to_string().contains("pfifoo"));
}

fn recording_of_pie() -> Recording {
    let qdisc = serde_json::from_str(r#"{"kind": "pie"}"#).expect("it is a discipline");
    Recording { qdisc, ..recording() }
}

#[test]
fn a_timer_is_put_where_it_was() {
    let mut one = recording_of_pie();
    // The first update is due after 512 ms of the law's time, and the next update is due 20 ms
    // later.
    one.time = vec![9_000_000_000, 1_000, 19_999_500, 1_000, 1_000, 1_000];
    one.updates = vec![1, 3];
    let Course { times, moved, late, .. } = one.course().unwrap();
    let ms = Instant::from_millis;
    assert!(times[0] < ms(512) && ms(512) <= times[1]);
    assert!(times[2] < ms(532) && ms(532) <= times[3]);
    assert_eq!((moved, late.len()), (0, 0));
    // The second update follows an operation that took place 500 ns after the update was due.
    one.updates = vec![1, 4];
    let Course { times, moved, late, .. } = one.course().unwrap();
    assert_eq!((times[3] < ms(532), ms(532) <= times[4], moved), (true, true, 1));
    assert!(late.is_empty());
}

#[test]
fn a_timer_that_was_late_is_late_again() {
    let mut one = recording_of_pie();
    // The third operation took place 2 ms after the second update was due, and precedes it in the
    // recording.
    one.time = vec![9_000_000_000, 1_000, 22_000_000, 3_000_000, 1_000, 1_000];
    one.updates = vec![1, 3];
    let Course { times, moved, late, .. } = one.course().unwrap();
    let ms = Instant::from_millis;
    assert_eq!((moved, late), (0, vec![ms(532)]));
    assert!(times[2] < ms(536) && ms(536) <= times[3]);
    assert_eq!(replay(&one).unwrap().late, 1);
}

#[test]
fn an_operation_without_a_reading_of_the_clock_follows_its_update() {
    let mut one = recording_of_pie();
    // The third operation took place 200 us before the second update was due. The fourth operation
    // followed this update and read no clock, so it has the time of the third.
    one.time = vec![9_000_000_000, 1_000, 19_800_000, 0, 300_000, 1_000];
    one.updates = vec![1, 3];
    let Course { times, moved, late, .. } = one.course().unwrap();
    let ms = Instant::from_millis;
    assert!(times[2] < ms(532) && ms(532) <= times[3] && times[3] <= times[4]);
    assert_eq!((moved, late.len()), (1, 0));
}

#[test]
fn a_further_reading_of_the_clock_is_shifted_like_the_operations() {
    let mut one = recording_of_pie();
    one.time = vec![9_000_000_000, 1_000, 19_999_500, 1_000, 1_000, 1_000];
    one.updates = vec![1, 3];
    // The reading took place 300 ns after its operation began.
    one.later = vec![(1, 9_000_001_300)];
    let Course { times, shift, .. } = one.course().unwrap();
    let read = Player::new(&one, shift).log(1).read_clock(times[1]);
    assert_eq!(read, times[1] + Duration::from_nanos(300));
}
