//! The numbers of applications with each verdict.

use crate::finding::Word;

/// The numbers of applications with each verdict. An application is served if its verdict is good
/// or tolerable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Service {
    /// The number of applications that are good, tolerable or bad.
    pub judged: usize,
    /// The number of applications that are bad.
    pub bad: usize,
    /// The number of applications that are good.
    pub good: usize,
}

impl Service {
    /// Counts applications, given the word of each application's verdict.
    pub fn of(words: impl IntoIterator<Item = Word>) -> Self {
        let mut counted = Self::default();
        for word in words {
            counted.judged += usize::from(word.is_judged());
            counted.bad += usize::from(word == Word::Bad);
            counted.good += usize::from(word == Word::Good);
        }
        counted
    }

    /// Returns the number of judged applications that are not good.
    pub const fn not_good(self) -> usize {
        self.judged - self.good
    }

    /// Returns whether applications were judged and none of them is bad.
    pub const fn serves(self) -> bool {
        self.judged > 0 && self.bad == 0
    }

    /// Returns whether applications were judged and all of them are good.
    pub const fn is_well(self) -> bool {
        self.judged > 0 && self.good == self.judged
    }

    /// Returns the worst word among the judged applications; [`Word::NoData`] without a judged
    /// application.
    pub const fn word(self) -> Word {
        if self.judged == 0 {
            Word::NoData
        } else if self.bad > 0 {
            Word::Bad
        } else if self.is_well() {
            Word::Good
        } else {
            Word::Tolerable
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_judged_applications_are_served() {
        for (words, serves, is_well, word) in [
            (&[Word::Good, Word::NoData][..], true, true, Word::Good),
            (&[Word::Good, Word::Tolerable], true, false, Word::Tolerable),
            (&[Word::Good, Word::Bad, Word::NoNeeds], false, false, Word::Bad),
            (&[Word::NoData, Word::NoNeeds], false, false, Word::NoData),
            (&[], false, false, Word::NoData),
        ] {
            let counted = Service::of(words.iter().copied());
            let found = (counted.serves(), counted.is_well(), counted.word());
            assert_eq!(found, (serves, is_well, word), "{words:?}");
        }
    }
}
