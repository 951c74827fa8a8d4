//! Boot test.
#![allow(dead_code, unreachable_pub)]
mod guest;
mod sys;

fn main() {
    let r = guest::set_up();
    let t = sys::now_ns();
    eprintln!("hello {r:?} {t}");
    guest::hand_out(&format!("{{\"t\": {t}}}\n"));
    guest::end();
}
