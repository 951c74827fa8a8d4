use super::*;

fn ranges(holes: &SackHoles) -> Vec<(u64, u64)> {
    holes.list.iter().map(|hole| (hole.start, hole.end)).collect()
}

#[test]
fn blocks_leave_holes_which_they_split_shrink_and_fill() {
    let mut holes = SackHoles::default();
    for (una, ack, blocks, want) in [
        (1, 1, &[(11, 21)][..], &[(1, 11)][..]),
        (1, 1, &[(41, 51), (11, 21)], &[(1, 11), (21, 41)]),
        (1, 1, &[(26, 31)], &[(1, 11), (21, 26), (31, 41)]),
        (1, 1, &[(11, 26), (31, 36)], &[(1, 11), (36, 41)]),
        (1, 11, &[], &[(36, 41)]),
        (11, 51, &[], &[]),
    ] {
        holes.update(una, ack, blocks);
        assert_eq!(ranges(&holes), want, "after {ack} {blocks:?}");
    }
    assert_eq!((holes.highest, holes.retransmitted), (51, 0));
}

#[test]
fn retransmitted_bytes_count_until_they_are_acknowledged() {
    let mut holes = SackHoles::default();
    holes.update(1, 1, &[(31, 41), (51, 61)]);
    for (end, next) in [(11, Some(11)), (21, Some(21)), (31, Some(41)), (51, None)] {
        holes.on_retransmitted(end);
        assert_eq!(holes.next().map(|hole| hole.next), next, "after {end}");
    }
    assert_eq!(holes.retransmitted, 40);
    holes.update(1, 1, &[(11, 21)]);
    assert_eq!((ranges(&holes), holes.retransmitted), (vec![(1, 11), (21, 31), (41, 51)], 30));
    assert_eq!(holes.next(), None, "a third time is left to the timer");
    holes.update(1, 41, &[]);
    assert_eq!((ranges(&holes), holes.retransmitted), (vec![(41, 51)], 10));
}

#[test]
fn more_than_128_holes_are_not_kept() {
    let mut holes = SackHoles::default();
    for i in 0..200 {
        holes.update(1, 1, &[(11 + i * 20, 21 + i * 20)]);
    }
    assert_eq!(holes.list.len(), 128);
    assert_eq!(holes.highest, 21 + 127 * 20);
    // One hole is filled. The next hole contains everything that was not recorded for lack of
    // holes.
    holes.update(1, 11, &[]);
    holes.update(11, 11, &[(11 + 199 * 20, 21 + 199 * 20)]);
    assert_eq!(ranges(&holes)[127], (21 + 127 * 20, 11 + 199 * 20));
    holes.update(11, 11, &[(11 + 180 * 20, 21 + 180 * 20)]);
    assert_eq!(holes.list.len(), 128, "none is split either");
}

#[test]
fn going_back_skips_what_lies_between_holes() {
    let mut holes = SackHoles::default();
    assert_eq!(holes.skip(5), 5);
    holes.update(1, 1, &[(11, 21), (31, 41)]);
    for (nxt, want) in [(1, 1), (5, 5), (11, 21), (25, 25), (31, 41), (50, 50)] {
        assert_eq!(holes.skip(nxt), want, "from {nxt}");
    }
}
