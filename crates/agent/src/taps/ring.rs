//! A ring of packets that the kernel fills and this process reads. The ring needs no system call
//! per packet (`PACKET_RX_RING`, version 2 of its headers; packet(7), `linux/if_packet.h`).
//!
//! Under instruction counting the guest's processor is slow, and the taps compete with TCP and the
//! disciplines for the processor. With one `recvmsg` per packet, the taps used 25 % of all
//! instructions on a busy line. The memory that the kernel shares requires unsafe code.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

/// The size in bytes of a frame, which holds one packet: a header of 80 bytes (including address
/// and alignment) and the first bytes of the packet.
const FRAME: usize = 256;
/// The size of a block in bytes, a multiple of the page size and of the frame size.
const BLOCK: usize = 64 * 1_024;
/// The number of blocks. They hold 16,384 packets, far more than arrive between two reads.
const BLOCKS: usize = 64;
const FRAMES: usize = BLOCK / FRAME * BLOCKS;

// Offsets in `struct tpacket2_hdr`, and in the `struct sockaddr_ll` that follows it.
const STATUS: usize = 0;
const SNAPPED: usize = 8;
const NET: usize = 14;
const SECONDS: usize = 16;
const NANOSECONDS: usize = 20;
const KIND: usize = 32 + 10;

/// A packet that a tap captured.
pub(crate) struct Seen<'a> {
    /// The first bytes of the packet, from the network header on.
    pub(crate) bytes: &'a [u8],
    /// Whether the packet was leaving the host.
    pub(crate) outgoing: bool,
    /// The time at which the kernel captured the packet, in nanoseconds since 1970.
    pub(crate) at_ns: u64,
}

/// The ring of one packet socket.
pub(crate) struct Ring {
    start: NonNull<u8>,
    /// The index of the frame that receives the next packet.
    next: usize,
}

impl Ring {
    /// Sets up a ring for `socket`; afterwards, only the ring reads the socket.
    pub(crate) fn new(socket: &OwnedFd) -> io::Result<Self> {
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        sys::set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        // `struct tpacket_req` consists of four words.
        let shape = [BLOCK, BLOCKS, FRAME, FRAMES].map(|word| (word as u32).to_ne_bytes());
        sys::set_bytes(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &shape.concat())?;
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the call passes no address, so it replaces no memory in use.
        let start = unsafe {
            let (none, fd) = (std::ptr::null_mut(), socket.as_raw_fd());
            libc::mmap(none, BLOCK * BLOCKS, rights, libc::MAP_SHARED, fd, 0)
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or_else(io::Error::last_os_error)?;
        Ok(Self { start, next: 0 })
    }

    /// Passes the next packet to `look` and returns true, or returns false if no packet has
    /// arrived.
    pub(crate) fn take(&mut self, look: impl FnOnce(&Seen<'_>)) -> bool {
        // SAFETY: `next` is below `FRAMES`, so the frame is within the mapping. The mapping is
        // aligned for these types, and the kernel shares it. The kernel does not touch a frame
        // whose status gives it to this process.
        let (status, frame) = unsafe {
            let at = self.start.as_ptr().add(self.next * FRAME);
            let status = AtomicU32::from_ptr(at.add(STATUS).cast());
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return false;
            }
            (status, std::slice::from_raw_parts(at.add(4), FRAME - 4))
        };
        look(&seen(frame));
        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % FRAMES;
        true
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping was made with this length, and no borrow of it remains.
        unsafe { libc::munmap(self.start.as_ptr().cast(), BLOCK * BLOCKS) };
    }
}

/// Parses a frame. `frame` lacks the first four bytes, which hold the status.
fn seen(frame: &[u8]) -> Seen<'_> {
    let word = |at: usize| {
        let at = at - 4;
        u32::from_ne_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
    };
    let net = usize::from(u16::from_ne_bytes([frame[NET - 4], frame[NET - 3]])) - 4;
    let end = (net + word(SNAPPED) as usize).min(frame.len());
    Seen {
        bytes: &frame[net..end],
        outgoing: frame[KIND - 4] == libc::PACKET_OUTGOING,
        at_ns: u64::from(word(SECONDS)) * 1_000_000_000 + u64::from(word(NANOSECONDS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_the_kernel_writes_it() {
        let mut frame = [0; FRAME];
        frame[SNAPPED..SNAPPED + 4].copy_from_slice(&3_u32.to_ne_bytes());
        frame[NET..NET + 2].copy_from_slice(&80_u16.to_ne_bytes());
        frame[SECONDS..SECONDS + 4].copy_from_slice(&7_u32.to_ne_bytes());
        frame[NANOSECONDS..NANOSECONDS + 4].copy_from_slice(&9_u32.to_ne_bytes());
        frame[KIND] = libc::PACKET_OUTGOING;
        frame[80..83].copy_from_slice(&[1, 2, 3]);
        let seen = seen(&frame[4..]);
        assert_eq!(seen.bytes, [1, 2, 3]);
        assert!(seen.outgoing);
        assert_eq!(seen.at_ns, 7_000_000_009);
    }
}
