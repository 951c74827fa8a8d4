//! The bytes of the packets in the discipline. The discipline itself stores only their headers.

use crate::sys::{self, Tun};

/// The length in bytes of the header before each packet (`struct virtio_net_hdr`). The header
/// states which checksum is still to be computed. The header is written back unchanged.
pub(super) const BEFORE: usize = 10;
/// The size of a slot in bytes: at least the 1500 bytes of an interface's largest packet and the
/// header before it.
const ROOM: usize = 2_048;
/// The number of bits of an identifier that hold the slot number.
const BITS: u32 = 24;

/// A slot for one packet.
struct Slot {
    bytes: Box<[u8]>,
    len: usize,
}

/// Slots for packets, which are created when needed and reused.
#[derive(Default)]
pub(super) struct Slots {
    all: Vec<Slot>,
    free: Vec<u32>,
    /// The number of packets read so far.
    count: u64,
}

impl Slots {
    /// Reads a packet and returns its identifier. Identifiers increase. Returns `None` if there is
    /// no packet.
    ///
    /// # Errors
    ///
    /// If the interface cannot be read or returns an empty packet, or if there are more packets
    /// than slot numbers.
    pub(super) fn read(&mut self, from: &Tun) -> Result<Option<u64>, String> {
        let number = self.place()?;
        let slot = &mut self.all[number as usize];
        match sys::read(from, &mut slot.bytes) {
            Ok(len) if len > BEFORE => slot.len = len,
            Ok(len) => return Err(format!("a packet of {len} bytes came")),
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                self.free.push(number);
                return Ok(None);
            }
            Err(error) => return Err(format!("cannot read: {error}")),
        }
        Ok(Some(self.name(number)))
    }

    fn place(&mut self) -> Result<u32, String> {
        if let Some(number) = self.free.pop() {
            return Ok(number);
        }
        if self.all.len() >> BITS > 0 {
            return Err("too many packets wait".into());
        }
        self.all.push(Slot { bytes: vec![0; ROOM].into(), len: 0 });
        Ok(self.all.len() as u32 - 1)
    }

    /// Counts the packet that a slot now holds, and returns its identifier.
    fn name(&mut self, number: u32) -> u64 {
        self.count += 1;
        self.count << BITS | u64::from(number)
    }

    /// Stores a packet as if it had been read, and returns its identifier.
    #[cfg(test)]
    pub(super) fn put(&mut self, packet: &[u8]) -> u64 {
        let number = self.place().expect("there is room");
        let slot = &mut self.all[number as usize];
        slot.len = BEFORE + packet.len();
        slot.bytes[BEFORE..slot.len].copy_from_slice(packet);
        self.name(number)
    }

    /// Returns the bytes of the IP packet `id`.
    pub(super) fn packet(&mut self, id: u64) -> &mut [u8] {
        let slot = &mut self.all[number(id)];
        &mut slot.bytes[BEFORE..slot.len]
    }

    /// Writes a packet and frees its slot.
    pub(super) fn write(&mut self, id: u64, to: &Tun) -> Result<(), String> {
        let slot = &self.all[number(id)];
        sys::write(to, &slot.bytes[..slot.len])
            .map_err(|error| format!("cannot write: {error}"))?;
        self.forget(id);
        Ok(())
    }

    /// Frees the slot of a packet.
    pub(super) fn forget(&mut self, id: u64) {
        self.free.push(number(id) as u32);
    }

    /// Returns the number of packets stored.
    #[cfg(test)]
    pub(super) fn taken(&self) -> usize {
        self.all.len() - self.free.len()
    }
}

const fn number(id: u64) -> usize {
    (id & ((1 << BITS) - 1)) as usize
}
