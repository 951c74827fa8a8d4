//! Runs the programs `ip`, `tc` and `ethtool`, and writes kernel settings.

use std::process::Command;

/// Runs `line`, whose words are separated by spaces, and returns its output.
///
/// # Errors
///
/// If the command cannot be started or fails. If the command fails, the error contains the command
/// line and the command's error message.
pub(crate) fn run(line: &str) -> Result<String, String> {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let output = Command::new(program)
        .args(words)
        .env("PATH", "/bin:/usr/sbin:/sbin:/usr/bin")
        .output()
        .map_err(|error| format!("`{program}` cannot be started: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{line}` failed: {}", said.trim()))
}

/// Runs command lines in order until one fails.
pub(crate) fn run_all(lines: &[String]) -> Result<(), String> {
    lines.iter().try_for_each(|line| run(line).map(drop))
}

/// Writes a kernel setting, and checks that the kernel has taken the value. `name` is the setting's
/// path below `/proc/sys`.
pub(crate) fn sysctl(name: &str, value: &str) -> Result<(), String> {
    let path = format!("/proc/sys/{name}");
    let failed = |error| format!("{path} = {value}: {error}");
    std::fs::write(&path, value).map_err(failed)?;
    let got = std::fs::read_to_string(&path).map_err(failed)?;
    if got.split_whitespace().eq(value.split_whitespace()) {
        return Ok(());
    }
    Err(format!("{path}: {value} was asked for, but the kernel has {}", got.trim()))
}
