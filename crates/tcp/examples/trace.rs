//! Prints the segments of two FreeBSD hosts in a scenario that a file defines. With a second
//! argument, it also prints the state of the hosts.

#![expect(clippy::print_stdout, reason = "a tool for people")]

#[path = "../tests/trace/mod.rs"]
mod trace;

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("a scenario's file");
    let text = std::fs::read_to_string(&path).expect("a file that can be read");
    let mut run = trace::Run::new(trace::Scenario::parse(&text));
    run.verbose = args.next().is_some();
    print!("{}", run.run());
}
