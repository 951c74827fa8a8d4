//! The mode of a trial: the source of its disciplines, and the kernel that runs it.

/// The disciplines and the kernel of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Mode {
    /// Whether the simulator's disciplines run between the kernel's TCPs, in place of the kernel's
    /// disciplines.
    pub(crate) ours: bool,
    /// Whether the trial runs on the host's own kernel, in real time, and not in a virtual machine.
    pub(crate) host: bool,
}

impl Mode {
    /// Returns the mode that the words state. Each word is optional.
    pub(crate) fn of(words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut mode = Self::default();
        for word in words {
            match word.as_str() {
                "ours" => mode.ours = true,
                "host" => mode.host = true,
                _ => return Err(format!("`{word}`: it may be `ours` or `host`")),
            }
        }
        Ok(mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_how_a_trial_is_run() {
        let of = |text: &str| Mode::of(text.split_whitespace().map(Into::into));
        assert_eq!(of(""), Ok(Mode::default()));
        assert_eq!(of("ours host"), Ok(Mode { ours: true, host: true }));
        assert!(of("our").is_err());
    }
}
