//! Verdicts: whether an application received the service that it needs.
//!
//! A [`Judge`] accepts trials, each with its specification and the rows of its tables. It returns a
//! [`Verdict`] over all seeds on each application in each condition. The needs come from the
//! application's kind (`aqmlab_apps::needs`); a scenario may state other needs.
//!
//! | Module       | Holds                                                                  |
//! |--------------|------------------------------------------------------------------------|
//! | [`trial`]    | the members of a trial that judging reads                              |
//! | [`rows`]     | the rows of a trial's tables                                           |
//! | `measured`   | the values of one application in one trial                             |
//! | `fair_share` | a transfer's fair share of the line                                    |
//! | `transfer`   | the time of a transfer that has a size                                 |
//! | [`requirement`] | the requirement that applies to an application                      |
//! | [`quality`]  | the Quality of Outcome: measurements on the scale of a requirement     |
//! | [`medians`]  | the measurements that a reader compares between conditions             |
//! | [`statistics`] | medians, intervals and paired differences over seeds                   |
//! | [`finding`]  | a need and its value: the word, the margin and the text                |
//! | [`verdict`]  | the findings on one application                                        |
//! | [`report`]   | verdicts as plain data                                                 |
//! | `judge`      | the collection of trials                                               |
//! | [`service`]  | the numbers of applications with each verdict                          |
//! | [`wording`]  | numbers in the form for people                                         |
//!
//! **Invariant:** no code in this crate reads a file or a clock, or starts a thread. The command
//! line and a page in a browser use the same code to judge.

mod fair_share;
pub mod finding;
mod judge;
mod measured;
pub mod medians;
pub mod quality;
pub mod report;
pub mod requirement;
pub mod rows;
pub mod service;
pub mod statistics;
mod transfer;
pub mod trial;
pub mod verdict;
pub mod wording;

pub use finding::{Finding, Word};
pub use judge::{Judge, Stated};
pub use measured::is_transfer;
pub use medians::Medians;
pub use quality::Quality;
pub use report::{FindingReport, MeasureName, Report};
pub use rows::{AppRow, FlowRow};
pub use service::Service;
pub use trial::Trial;
pub use verdict::Verdict;
