//! The simulator for a web page: requests and answers are JSON texts.
//!
//! | Module      | Holds                                                        |
//! |-------------|--------------------------------------------------------------|
//! | `door`      | the exported functions, which pass texts through buffers     |
//! | [`request`] | the requests and their answers                               |
//! | `json`      | tables as JSON                                               |
//! | `verdicts`  | verdicts on the applications of a scenario                   |

pub mod door;
mod json;
pub mod request;
mod verdicts;
