//! A trial: its specification, the driver of its applications, and the tables of its results.
//!
//! The simulator and the kernel engine read the same [`Spec`], run the same applications and fill
//! the same [`Findings`]. The module [`tables`] makes all tables from the findings. An engine adds
//! the network, the clock and the TCPs.
//!
//! | Module        | Holds                                                                 |
//! |---------------|-----------------------------------------------------------------------|
//! | [`spec`]      | the specification, as JSON states it                                  |
//! | [`scenario`]  | the overheads of lines, and the defaults of a scenario's keys         |
//! | [`dscp`]      | the names and the priorities of codepoints                            |
//! | [`app_runner`]| the driver of the applications                                        |
//! | [`arguments`] | the arguments of a kind: disciplines, applications, controllers       |
//! | `limits`      | bounds on the size of a trial                                         |
//! | [`mod@resolve`] | the links, applications and TCP endpoints of a valid specification    |
//! | [`link`]      | the port and the radio of a link                                      |
//! | [`endpoint`]  | the configuration of a TCP endpoint                                   |
//! | `datagrams`   | the check that hosts do not fragment an application's datagrams       |
//! | `shapers`     | the shapers of the gateway, whose rates an application may change     |
//! | `impairments` | the loss and the jitter of packets after a route's last link         |
//! | [`streams`]   | the names of the random streams                                       |
//! | `grain`       | the resolution of time series                                         |
//! | `notes`       | the metrics that applications record as they run                      |
//! | [`findings`]  | the results of a run, as plain data                                   |
//! | [`tables`]    | the tables made from the findings; `table` stores columns             |

pub mod app_runner;
pub mod arguments;
mod datagrams;
pub mod dscp;
pub mod endpoint;
mod error;
pub mod findings;
mod grain;
mod impairments;
mod limits;
pub mod link;
mod notes;
mod parse;
pub mod resolve;
pub mod scenario;
mod shapers;
pub mod spec;
pub mod streams;
mod table;
pub mod tables;

pub use app_runner::{AppRunner, Engine};
pub use error::SpecError;
pub use findings::Findings;
pub use grain::{Grain, coarsen};
pub use impairments::Impairments;
pub use notes::{Note, Notes};
pub use parse::parse;
pub use resolve::{check, resolve};
pub use shapers::gateway_shapers;
pub use spec::Spec;
pub use table::{Column, Table, Words};
