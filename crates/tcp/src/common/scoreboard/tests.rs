use aqmlab_core::{Instant, Rng};

use super::*;

fn board(n: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for i in 0..n {
        board.push(Sent::new(1 + i * 100, 100, 0));
    }
    board
}

fn order(board: &Scoreboard) -> Vec<u32> {
    std::iter::successors(board.oldest(), |id| board.next_oldest(*id)).collect()
}

#[test]
fn a_retransmission_moves_to_the_end_of_the_list() {
    let mut board = board(4);
    board.get_mut(1).part = 2;
    board.resend(1, Instant::ZERO);
    assert_eq!(board.get(1).part, 0, "a retransmission is in no train");
    assert_eq!(order(&board), [0, 2, 3, 1]);
    board.set_sacked(2);
    assert_eq!(order(&board), [0, 3, 1]);
    board.pop();
    assert_eq!(order(&board), [3, 1]);
}

#[test]
fn the_list_is_the_same_whether_it_is_linked_or_not() {
    let mut rng = Rng::stream(1, "list");
    let mut board = board(0);
    let (mut list, mut seq, mut unlinked, mut most_sacked) = (Vec::new(), 1, 0, 0);
    for step in 0..20_000 {
        let out = u64::from(board.packets_out());
        // In some phases, segments are tagged S and none is acknowledged.
        let only_sacks = step % 1_000 < 100;
        most_sacked = most_sacked.max(board.sacked_out());
        let id = board.first() + rng.below(out.max(1)) as u32;
        match rng.below(8) {
            0..3 if out < 30 => {
                list.push(board.end_id());
                board.push(Sent::new(seq, 100, 0));
                seq += 100;
            }
            3..6 if out > 0 && !only_sacks => {
                list.retain(|other| *other != board.first());
                board.pop();
            }
            6 if out > 0 && rng.below(10) == 0 => {
                list.retain(|other| *other != id);
                list.push(id);
                board.resend(id, Instant::ZERO);
            }
            3..6 | 7
                if out > 0 && (only_sacks || rng.below(10) == 0) && !board.get(id).is_sacked() =>
            {
                list.retain(|other| *other != id);
                board.set_sacked(id);
            }
            _ => {}
        }
        unlinked += u32::from(!board.is_linked());
        assert_eq!(order(&board), list, "step {step}");
    }
    assert!((2_000..18_000).contains(&unlinked), "{unlinked} lists were not linked");
    assert!(most_sacked > 20, "at most {most_sacked} segments were tagged S");
}

#[test]
fn segments_are_found_by_their_bytes() {
    let mut board = board(4);
    for (seq, want) in [(1, 0), (100, 0), (101, 1), (350, 3), (401, 4)] {
        assert_eq!(board.id_at(seq), want, "{seq}");
    }
    board.pop();
    assert_eq!(board.id_at(101), 1);
}

#[test]
fn a_lost_retransmission_is_lost_again() {
    let mut board = board(2);
    assert!(board.mark_lost(0));
    assert!(!board.mark_lost(0));
    board.mark_retransmitted(0);
    assert_eq!(board.in_flight(), 2);
    assert!(board.mark_lost(0));
    assert_eq!(board.in_flight(), 1);
}
