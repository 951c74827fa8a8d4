//! Control laws: they judge the packets of one queue, and own none.
