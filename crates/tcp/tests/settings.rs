//! Tests that a host reads only the settings that are listed for it.

mod support;

use aqmlab_core::{Bounds, Bytes, Duration, Instant, Param, Value};
use aqmlab_tcp::{Config, Profile, Segment, Stack};
use support::{Pair, Wire, config};

/// Returns every segment of transfers in both directions, with losses, reordering, marks and an
/// idle period.
fn segments(profile: &Profile) -> Vec<(Instant, usize, Segment)> {
    let wire = Wire {
        jitter: Duration::from_millis(9),
        loss: 0.04,
        duplication: 0.01,
        marking: 0.01,
        ..Wire::clean(15)
    };
    let host = || Config { ecn: true, ..config(profile.clone(), "newreno") };
    let mut all = Vec::new();
    for (seed, delays_ms) in [(1, 15), (2, 70)] {
        let wire = Wire { delay: Duration::from_millis(delays_ms), ..wire.clone() };
        let mut pair = Pair::new(host(), host(), wire, seed);
        for (until_s, bytes) in [(20, [400_000, 150_000]), (60, [600_000, 0])] {
            pair.to_write = bytes;
            pair.run(Instant::ZERO + Duration::from_secs(until_s));
        }
        pair.closes = [true; 2];
        pair.run(Instant::ZERO + Duration::from_secs(300));
        all.append(&mut pair.log);
    }
    all
}

fn another(param: &Param, value: Value) -> Value {
    let changed = match value {
        Value::Flag(flag) => Value::Flag(!flag),
        Value::Word(word, choices) => {
            let other = choices.iter().find(|one| **one != word).expect("there is a choice");
            Value::Word(other, choices)
        }
        Value::Duration(span) if span > Duration::from_secs(60) => Value::Duration(span / 1_000),
        Value::Duration(span) => Value::Duration(span * 3 + Duration::from_millis(7)),
        Value::Count(count) => Value::Count(count + 2),
        Value::Bytes(size) => Value::Bytes(Bytes(size.0 / 2 + 3_000)),
        other => panic!("{}: {other}", param.name),
    };
    assert!(param.bounds.admit(changed) || param.bounds == Bounds::Any, "{}", param.name);
    changed
}

#[test]
fn a_setting_that_is_not_listed_for_a_host_changes_nothing() {
    for (profile, foreign) in
        [(Profile::linux(), Stack::FreeBsd), (Profile::freebsd(), Stack::Linux)]
    {
        let usual = segments(&profile);
        let own: Vec<_> = Profile::settings(profile.stack).iter().map(|param| param.name).collect();
        let mut count = 0;
        for param in Profile::settings(foreign).iter().filter(|one| !own.contains(&one.name)) {
            let mut changed = profile.clone();
            let value = another(param, changed.get(param.name).expect("it exists"));
            changed.set(param.name, value).expect("it may be set");
            assert!(segments(&changed) == usual, "{} reads {}", profile.name, param.name);
            count += 1;
        }
        assert!(count > 4, "{count} settings of {foreign:?} alone");
    }
}
