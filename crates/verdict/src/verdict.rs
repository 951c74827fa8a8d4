//! The verdict on an application, which is the worst of its findings, and the texts.
//!
//! `finding.rs` compares a value with the limits of its need. `measured.rs` reads the value from the
//! tables.

use aqmlab_apps::needs::Needs;

use crate::fair_share::FairShare;
use crate::finding::{Finding, Word};
use crate::medians::Medians;
use crate::quality::Quality;
use crate::transfer::TransferTime;
use crate::wording::{clock, quantity, size};

/// The percentage of the fair share at and above which a transfer counts as having all of it.
const NEARLY_ALL_PERCENT: f64 = 99.0;
/// The proportion of the fair share below which a text omits the part that is unused or taken.
const WORTH_A_WORD: f64 = 0.02;

/// The verdict on an application in one condition, over all seeds.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// The number of the condition, from [`Judge::add`](crate::Judge::add).
    pub condition: u32,
    /// The name of the application.
    pub app: String,
    /// The name of the application's kind.
    pub kind: String,
    /// The findings on the needs that apply, in the order in which texts name them.
    pub findings: Vec<Finding>,
    /// Each seed, with the word that follows from this seed alone.
    pub words_by_seed: Vec<(u64, Word)>,
    /// The needs of the application's kind; `None` for a kind that this version does not know.
    pub(crate) stated: Option<&'static Needs>,
    /// The time of a transfer that has a size. A measured time that a finding already states is
    /// absent.
    pub time: Option<TransferTime>,
    pub(crate) share: Option<FairShare>,
    /// Measurements that are reported whatever the needs are.
    pub medians: Medians,
    /// The Quality of Outcome, if a requirement applies.
    pub quality: Option<Quality>,
}

/// Returns the finding that decides the verdict: the worst measured finding, and among equally bad
/// findings the finding with the smallest margin. If nothing was measured, returns a finding
/// without a value. Returns `None` without findings.
pub(crate) fn deciding(findings: &[Finding]) -> Option<&Finding> {
    let margin = |finding: &Finding| finding.margin().unwrap_or(f64::INFINITY);
    let rank = |finding: &Finding| (finding.word().is_judged(), finding.word());
    findings.iter().reduce(|worst, finding| {
        let (one, other) = (rank(finding), rank(worst));
        let is_worse = one > other || (one == other && margin(finding) < margin(worst));
        if is_worse { finding } else { worst }
    })
}

impl Verdict {
    /// Returns the finding that decides the verdict; `None` without findings.
    pub fn deciding(&self) -> Option<&Finding> {
        deciding(&self.findings)
    }

    /// Returns the word of the deciding finding; [`Word::NoNeeds`] without findings.
    pub fn word(&self) -> Word {
        self.deciding().map_or(Word::NoNeeds, Finding::word)
    }

    /// Returns the reason in short. A good verdict names the need with the smallest margin. A
    /// tolerable or bad verdict names all needs that are missed as badly as the worst need. The
    /// other verdicts state that nothing is known or measured. The notes `told` follow the reason.
    pub(crate) fn because(&self, told: &[String]) -> String {
        let mut parts: Vec<String> = match (self.word(), self.deciding()) {
            (Word::NoNeeds, _) | (_, None) => vec![String::from("nothing is known of its needs")],
            (Word::NoData, _) => vec![String::from("nothing was measured")],
            (Word::Good, Some(deciding)) => vec![deciding.brief()],
            (word, _) => self.equally(word).map(Finding::brief).collect(),
        };
        parts.extend_from_slice(told);
        parts.join(", ")
    }

    /// Returns the effect that a person at home notices, as a clause. Without needs or
    /// measurements, the clause states that they are missing.
    pub(crate) fn felt(&self) -> String {
        match self.word() {
            Word::Good => self.stated.map_or("", |needs| needs.fine).to_owned(),
            word @ (Word::Tolerable | Word::Bad) => {
                let felt: Vec<&str> = self.equally(word).map(|one| one.need.felt).collect();
                felt.into_iter().filter(|clause| !clause.is_empty()).collect::<Vec<_>>().join(", ")
            }
            Word::NoData => String::from("nothing was measured"),
            Word::NoNeeds => String::from("nothing is known of its needs"),
        }
    }

    /// Returns the verdict as a sentence for a person at home, with the effect `felt` and the notes
    /// `told`.
    pub(crate) fn sentence(&self, felt: &str, told: &[String]) -> String {
        let word = self.word();
        let numbers: Vec<String> = match word {
            Word::Good => self.deciding().map(Finding::text).into_iter().collect(),
            Word::Tolerable | Word::Bad => self.equally(word).map(Finding::text).collect(),
            Word::NoData | Word::NoNeeds => Vec::new(),
        };
        let mut parts = vec![format!("{}: {}", self.app, word.text())];
        parts.extend(Some(felt).filter(|text| !text.is_empty()).map(str::to_owned));
        parts.extend(numbers);
        parts.extend_from_slice(told);
        parts.join(", ")
    }

    /// Returns further notes for a reader, if they apply: the rest of a fair share, the time of a
    /// transfer, and, for a missed need, the note of the kind.
    pub(crate) fn told(&self) -> Vec<String> {
        let time = self.time.map(|time| {
            let mark = if time.projected { " (projected)" } else { "" };
            format!("{} in {}{mark}", size(time.size_bytes), clock(time.ms))
        });
        let is_missed = matches!(self.word(), Word::Tolerable | Word::Bad);
        let note = self.stated.map(|needs| needs.note).filter(|note| is_missed && !note.is_empty());
        [self.rest(), time, note.map(str::to_owned)].into_iter().flatten().collect()
    }

    /// Returns a text on the rate, the fair share, and the parts of the rest that are unused or
    /// that other applications have. Returns `None` without a fair share, or with nearly all of it.
    fn rest(&self) -> Option<String> {
        let share = self.share.filter(|share| share.percent() < NEARLY_ALL_PERCENT)?;
        let lacking = share.fair - share.got;
        let unused = share.unused.min(lacking);
        let parts = [(unused, "unused"), (lacking - unused, "taken by others")];
        let said: Vec<String> = parts
            .into_iter()
            .filter(|(mbit, _)| *mbit >= WORTH_A_WORD * share.fair)
            .map(|(mbit, text)| format!("{} {text}", quantity(mbit, "Mbit/s")))
            .collect();
        let (got, fair) = (quantity(share.got, ""), quantity(share.fair, "Mbit/s"));
        let rest = if said.is_empty() { String::new() } else { format!(": {}", said.join(", ")) };
        Some(format!("{got} of {fair}{rest}"))
    }

    fn equally(&self, word: Word) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(move |finding| finding.word() == word)
    }
}
