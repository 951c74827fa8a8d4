//! Runs commands for a gateway as a user pastes them, in a namespace with one veth pair, and reads
//! the result back.
//!
//! `aqmlab advise` prints such commands. A line that begins with `#` is a comment. A line that
//! fails ends the job, unless the line ends with `2>/dev/null`.

use serde_json::{Value, json};

use crate::command::run as run_line;
use crate::{guest, sys};

/// The file that lists the modules that only jobs of commands need.
const MODULES: &str = "/aqmlab/paste-modules";

/// The commands, and the device that they set up.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Commands {
    device: String,
    lines: Vec<String>,
}

/// Returns the commands of `json`, or `None` if `json` is not a job of commands.
pub(crate) fn wanted(json: &str) -> Option<Result<Commands, String>> {
    let whole: Value = serde_json::from_str(json).ok()?;
    let job = whole.get("paste")?;
    Some(parse(job).ok_or_else(|| "paste: a device and lines are expected".into()))
}

fn parse(job: &Value) -> Option<Commands> {
    let device = job.get("device")?.as_str()?.to_owned();
    let lines = job.get("lines")?.as_array()?;
    let lines: Option<Vec<String>> =
        lines.iter().map(|line| line.as_str().map(str::to_owned)).collect();
    Some(Commands { device, lines: lines? })
}

/// Runs the commands and returns the resulting configuration of the kernel, as JSON on one line.
pub(crate) fn run(commands: &Commands) -> Result<String, String> {
    guest::load_listed(MODULES)?;
    sys::unshare_network().map_err(|error| format!("cannot make a namespace: {error}"))?;
    let device = &commands.device;
    run_line(&format!("ip link add {device} type veth peer name far"))?;
    run_line("ip link set far up")?;
    run_line(&format!("ip link set {device} up"))?;
    for line in commands.lines.iter().filter(|line| !line.starts_with('#')) {
        run_pasted(line)?;
    }
    let mut devices = vec![device.clone()];
    let links: Value = serde_json::from_str(&run_line("ip -j link show type ifb")?)
        .map_err(|error| format!("unreadable output of ip: {error}"))?;
    let names = links.as_array().into_iter().flatten().filter_map(|link| link["ifname"].as_str());
    devices.extend(names.map(str::to_owned));
    let mut shown = serde_json::Map::new();
    for name in devices {
        let told = json!({
            "qdisc": run_line(&format!("tc -d qdisc show dev {name}"))?,
            "class": run_line(&format!("tc -d class show dev {name}"))?,
            "filter": run_line(&format!("tc filter show dev {name} parent ffff:")).unwrap_or_default(),
        });
        shown.insert(name, told);
    }
    Ok(format!("{}\n", json!({ "shown": shown })))
}

/// Runs one line. As in a script, a line that ends with `2>/dev/null` may fail.
fn run_pasted(line: &str) -> Result<(), String> {
    match line.strip_suffix(" 2>/dev/null") {
        Some(hidden) => drop(run_line(hidden)),
        None => drop(run_line(line)?),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_is_not_a_job_of_commands() {
        assert_eq!(wanted(r#"{"seed": 1, "links": []}"#), None);
    }

    #[test]
    fn only_a_line_that_hides_its_complaints_may_fail() {
        assert_eq!(run_pasted("false 2>/dev/null"), Ok(()));
        assert!(run_pasted("false").is_err());
    }

    #[test]
    fn a_job_has_a_device_and_lines() {
        let lines = vec!["tc qdisc show".to_owned()];
        assert_eq!(
            wanted(r#"{"paste": {"device": "eth0", "lines": ["tc qdisc show"]}}"#),
            Some(Ok(Commands { device: "eth0".into(), lines }))
        );
        assert!(matches!(wanted(r#"{"paste": {"lines": [1]}}"#), Some(Err(_))));
    }
}
