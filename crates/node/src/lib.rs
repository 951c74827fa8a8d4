//! The boxes of a home network.
