//! Runs the trial in a file, and prints the digest and the number of packets. The example is meant
//! for profilers:
//!
//! ```console
//! cargo build --release -p aqmlab-sim --example run
//! valgrind --tool=callgrind target/release/examples/run tests/golden/household.json
//! ```

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: run TRIAL.json")?;
    let spec = aqmlab_trial::parse(&std::fs::read_to_string(path)?)?;
    let outcome = aqmlab_sim::run(&spec)?;
    println!("{} {} packets", outcome.digest, outcome.packets);
    Ok(())
}
