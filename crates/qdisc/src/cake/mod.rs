//! CAKE: a shaper, tins by Differentiated Services codepoint, a queue for each flow under COBALT,
//! and fairness between hosts.
//!
//! Source: Linux 6.1 `net/sched/sch_cake.c` as Debian ships it (6.1.192).
//!
//! | Module         | Holds                                                                     |
//! |----------------|---------------------------------------------------------------------------|
//! | [`settings`]   | the settings of CAKE, and tc's keywords for link layers and distances     |
//! | [`diffserv`]   | the tin of each codepoint, and the tins' rates and weights                |
//! | `rate`         | the kernel's time per byte in fixed point                                 |
//! | `length`       | the length that the shaper charges for a packet                           |
//! | `shaper`       | the clocks of the shaper                                                  |
//! | `sets`         | the set-associative hash of flows and hosts                               |
//! | `chains`       | the lists of new, old and decaying flows                                  |
//! | `tin`          | the flows of a tin and their states                                       |
//! | `heap`         | the heap that finds the longest queue                                     |
//! | `ack_filter`   | the removal of redundant acknowledgements                                 |
//! | `autorate`     | the estimate of the rate of arrivals                                      |
//! | `cake`         | the discipline's state and configuration                                  |
//! | `arrivals`     | arrivals, and drops by overflow                                           |
//! | `departures`   | the choice of a tin, a flow and a packet                                  |
//! | [`report`]     | the statistics that `tc -s` shows                                         |
//!
//! The law is [`crate::aqm::cobalt`].
//!
//! Differences from the kernel, each pinned by a test if it can be observed here:
//!
//! - the memory of a packet is an estimate of its `skb->truesize` with one driver, as in `fq_codel`
//!   ([`crate::flows`]);
//! - flows and hosts are hashed with a salt, while the kernel hashes them with a key drawn at boot;
//! - packets are segments, so `split-gso` has nothing to split;
//! - packets have no firewall mark and no class, and no NAT changes their addresses, so `fwmark`,
//!   filters and `nat` have no effect and are not parameters;
//! - `overhead` is from 0 to 256 bytes here; `tc` accepts -64 to 256.

mod ack_filter;
mod arrivals;
mod autorate;
#[expect(clippy::module_inception, reason = "the discipline among its parts")]
mod cake;
mod chains;
mod departures;
pub mod diffserv;
mod heap;
mod length;
mod rate;
pub mod report;
mod sets;
pub mod settings;
mod shaper;
mod tin;

#[cfg(test)]
mod tests;

pub use cake::Cake;
