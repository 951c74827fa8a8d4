//! The acknowledgement that a segment carries, before it becomes the sender's business.

use aqmlab_core::{TcpFlags, TcpHeader};

use crate::connection::Connection;

impl Connection {
    /// Processes the acknowledgement; returns whether the rest of the segment may be.
    #[inline]
    pub(crate) fn take_in_ack(&mut self, header: &TcpHeader) -> bool {
        // The peer has reduced its window: its next data deserves an answer at once.
        if header.flags.has(TcpFlags::CWR) {
            self.ecn.echo = false;
            self.delack.now |= header.payload > 0;
        }
        if header.ack > self.snd.max {
            return false;
        }
        if header.ack < self.snd.una {
            // RFC 5961 §5.2: older than anything that can be on its way.
            if header.ack + self.snd.max_window < self.snd.una {
                if self.may_challenge() {
                    self.send_ack();
                }
                return false;
            }
            self.linux_old_ack(header);
            return true;
        }
        self.linux_ack(header);
        self.follow_fin_ack();
        true
    }
}
