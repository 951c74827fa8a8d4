//! System calls, each behind a safe function. Only this module and `taps::ring` have unsafe code.
//!
//! Values are passed by reference to live locals, and their sizes follow from their types.
//! Descriptors come from [`OwnedFd`], so they are open.
#![allow(unsafe_code)]

use std::ffi::{CString, c_int, c_void};
use std::fs::File;
use std::io;
use std::mem::{size_of, zeroed};
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Converts a negative return value to the error of the system call.
fn check(value: c_int) -> io::Result<c_int> {
    if value < 0 { Err(io::Error::last_os_error()) } else { Ok(value) }
}

fn check_len(value: isize) -> io::Result<usize> {
    usize::try_from(value).map_err(|_| io::Error::last_os_error())
}

fn text(value: &str) -> io::Result<CString> {
    CString::new(value).map_err(io::Error::other)
}

/// Moves this process into a new network namespace.
pub(crate) fn unshare_network() -> io::Result<()> {
    // SAFETY: the call takes no pointer; the process has one thread.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }).map(drop)
}

/// Moves this process into the network namespace that the open file `namespace` refers to.
pub(crate) fn enter_network(namespace: &File) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }).map(drop)
}

/// Mounts a file system without a device.
pub(crate) fn mount(kind: &str, target: &str) -> io::Result<()> {
    let (kind, target) = (text(kind)?, text(target)?);
    // SAFETY: the strings end in a zero and live until the call returns; no data argument is
    // passed.
    let done =
        unsafe { libc::mount(kind.as_ptr(), target.as_ptr(), kind.as_ptr(), 0, std::ptr::null()) };
    check(done).map(drop)
}

/// Loads a kernel module.
pub(crate) fn load_module(module: &File, parameters: &str) -> io::Result<()> {
    let parameters = text(parameters)?;
    // SAFETY: the string ends in a zero and lives until the call returns.
    let done = unsafe {
        libc::syscall(libc::SYS_finit_module, module.as_raw_fd(), parameters.as_ptr(), 0)
    };
    check(done as c_int).map(drop)
}

/// Requests access to `count` I/O ports from `first` on.
#[cfg(target_arch = "x86_64")]
pub(crate) fn allow_ports(first: u16, count: u16) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    check(unsafe { libc::ioperm(first.into(), count.into(), 1) }).map(drop)
}

/// Writes `bytes` to an I/O port, one byte after the other.
///
/// The port must have been enabled with [`allow_ports`]; otherwise the process receives a signal.
#[cfg(target_arch = "x86_64")]
pub(crate) fn out(port: u16, bytes: &[u8]) {
    // SAFETY: `rep outsb` reads exactly `bytes.len()` bytes from `bytes` and writes no memory.
    unsafe {
        std::arch::asm!(
            "rep outsb",
            in("dx") port,
            inout("rcx") bytes.len() => _,
            inout("rsi") bytes.as_ptr() => _,
            options(readonly, nostack, preserves_flags)
        );
    }
}

/// Returns an error, because other architectures have no I/O ports.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn allow_ports(_first: u16, _count: u16) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Does nothing, because other architectures have no I/O ports.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn out(_port: u16, _bytes: &[u8]) {}

/// Returns the time of day in nanoseconds since 1970.
pub(crate) fn now_ns() -> u64 {
    // SAFETY: a `timespec` may be all zeros, and the call fills it.
    let time = unsafe {
        let mut time: libc::timespec = zeroed();
        libc::clock_gettime(libc::CLOCK_REALTIME, &raw mut time);
        time
    };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Opens a non-blocking socket.
pub(crate) fn socket(domain: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes no pointer; a descriptor that is returned belongs to the caller alone.
    unsafe { Ok(OwnedFd::from_raw_fd(check(libc::socket(domain, kind, protocol))?)) }
}

fn inet(address: Ipv4Addr, port: u16) -> libc::sockaddr_in {
    // SAFETY: a `sockaddr_in` may be all zeros.
    let mut name: libc::sockaddr_in = unsafe { zeroed() };
    name.sin_family = libc::AF_INET as u16;
    name.sin_port = port.to_be();
    name.sin_addr.s_addr = u32::from_ne_bytes(address.octets());
    name
}

/// Binds a socket to a local address and port.
pub(crate) fn bind(fd: &OwnedFd, address: Ipv4Addr, port: u16) -> io::Result<()> {
    let name = inet(address, port);
    let size = size_of::<libc::sockaddr_in>() as u32;
    // SAFETY: `name` lives until the call returns, and `size` is its size.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const name).cast(), size) }).map(drop)
}

/// Connects a socket to its peer's address. A TCP connection completes later.
pub(crate) fn connect(fd: &OwnedFd, address: Ipv4Addr, port: u16) -> io::Result<()> {
    let name = inet(address, port);
    let size = size_of::<libc::sockaddr_in>() as u32;
    // SAFETY: `name` lives until the call returns, and `size` is its size.
    let done = check(unsafe { libc::connect(fd.as_raw_fd(), (&raw const name).cast(), size) });
    match done {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => Err(error),
        _ => Ok(()),
    }
}

/// Listens for connections.
pub(crate) fn listen(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    check(unsafe { libc::listen(fd.as_raw_fd(), 1_024) }).map(drop)
}

/// Accepts the next connection; returns its socket and its peer's port.
pub(crate) fn accept(fd: &OwnedFd) -> io::Result<(OwnedFd, u16)> {
    let mut name = inet(Ipv4Addr::UNSPECIFIED, 0);
    let mut size = size_of::<libc::sockaddr_in>() as u32;
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: `name` and `size` live until the call returns, and `size` is the size of `name`. Only
    // the caller owns a returned descriptor.
    let taken = unsafe {
        let taken = libc::accept4(fd.as_raw_fd(), (&raw mut name).cast(), &raw mut size, flags);
        OwnedFd::from_raw_fd(check(taken)?)
    };
    Ok((taken, u16::from_be(name.sin_port)))
}

/// Sets a socket option whose value is an integer.
pub(crate) fn set(fd: &OwnedFd, level: c_int, option: c_int, value: c_int) -> io::Result<()> {
    set_bytes(fd, level, option, &value.to_ne_bytes())
}

/// Sets a socket option to the bytes of `value`.
pub(crate) fn set_bytes(fd: &OwnedFd, level: c_int, option: c_int, value: &[u8]) -> io::Result<()> {
    let data = value.as_ptr().cast::<c_void>();
    // SAFETY: `data` points to `value`, and the length is the length of `value`.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, data, value.len() as u32) })
        .map(drop)
}

/// Reads a socket option into `value`; returns the length of the option.
pub(crate) fn get_bytes(
    fd: &OwnedFd,
    level: c_int,
    option: c_int,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut size = value.len() as u32;
    let data = value.as_mut_ptr().cast::<c_void>();
    // SAFETY: `data` points to `value`, and `size` is its length.
    let done = unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, data, &raw mut size) };
    check(done).map(|_| size as usize)
}

/// Sends bytes and returns how many were sent. No signal is raised if the peer has closed the
/// connection.
pub(crate) fn send(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    let data = bytes.as_ptr().cast();
    // SAFETY: `data` points to `bytes`, and the length is the length of `bytes`.
    check_len(unsafe { libc::send(fd.as_raw_fd(), data, bytes.len(), libc::MSG_NOSIGNAL) })
}

/// Sends an IP packet to the host at `address`, on a raw socket.
pub(crate) fn send_to(fd: &OwnedFd, bytes: &[u8], address: Ipv4Addr) -> io::Result<usize> {
    let (data, name) = (bytes.as_ptr().cast(), inet(address, 0));
    let (to, size) = ((&raw const name).cast(), size_of::<libc::sockaddr_in>() as u32);
    // SAFETY: `data` points to `bytes`, and the length is the length of `bytes`. `name` lives until
    // the call returns, and `size` is its size.
    check_len(unsafe { libc::sendto(fd.as_raw_fd(), data, bytes.len(), 0, to, size) })
}

/// Receives into `buffer`; returns the number of bytes received.
pub(crate) fn receive(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    let data = buffer.as_mut_ptr().cast();
    // SAFETY: `data` points to `buffer`, and the length is the length of `buffer`.
    check_len(unsafe { libc::recv(fd.as_raw_fd(), data, buffer.len(), 0) })
}

/// Reads and discards up to `most` bytes of a TCP connection. Returns their number, which is zero
/// at the end of the stream.
pub(crate) fn discard(fd: &OwnedFd, most: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket writes to no buffer (tcp(7)).
    let got = unsafe {
        libc::recv(fd.as_raw_fd(), std::ptr::null_mut(), most, libc::MSG_TRUNC | libc::MSG_DONTWAIT)
    };
    check_len(got)
}

/// Closes the sending direction of a connection.
pub(crate) fn shut_down(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: the call takes no pointer.
    check(unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) }).map(drop)
}

/// Makes a later close of the socket reset the connection.
pub(crate) fn reset_on_close(fd: &OwnedFd) -> io::Result<()> {
    let value = [1_i32.to_ne_bytes(), 0_i32.to_ne_bytes()].concat();
    set_bytes(fd, libc::SOL_SOCKET, libc::SO_LINGER, &value)
}

/// Returns the index of a network interface.
pub(crate) fn interface(name: &str) -> io::Result<u32> {
    let name = text(name)?;
    // SAFETY: the string ends in a zero and lives until the call returns.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(io::Error::last_os_error()),
        index => Ok(index),
    }
}

/// Opens a socket that receives every packet of an interface, without its link header.
pub(crate) fn tap(name: &str) -> io::Result<OwnedFd> {
    let protocol = (libc::ETH_P_ALL as u16).to_be();
    let fd = socket(libc::AF_PACKET, libc::SOCK_DGRAM, 0)?;
    set(&fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1)?;
    // SAFETY: a `sockaddr_ll` may be all zeros.
    let mut link: libc::sockaddr_ll = unsafe { zeroed() };
    link.sll_family = libc::AF_PACKET as u16;
    link.sll_protocol = protocol;
    link.sll_ifindex = i32::try_from(interface(name)?).map_err(io::Error::other)?;
    let size = size_of::<libc::sockaddr_ll>() as u32;
    // SAFETY: `link` lives until the call returns, and `size` is its size.
    check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const link).cast(), size) })?;
    Ok(fd)
}

/// A TUN interface, whose packets a program reads and writes.
pub(crate) struct Tun(OwnedFd);

// The request number and the flags of linux/if_tun.h.
const TUN_SET_INTERFACE: u64 = 0x4004_54ca;
const TUN_SET_OFFLOAD: u64 = 0x4004_54d0;
const TUN_CHECKSUM: u64 = 1;

impl Tun {
    /// Creates an interface in the namespace of this process. A `virtio_net_hdr` precedes each
    /// packet and states which checksum is still to be computed.
    pub(crate) fn new(name: &str) -> io::Result<Self> {
        let file = File::options().read(true).write(true).open("/dev/net/tun")?;
        let fd = OwnedFd::from(file);
        // SAFETY: an `ifreq` may be all zeros, and lives until the call returns. The name fits and
        // its last byte stays zero. The call reads the field that is set here.
        unsafe {
            let mut request: libc::ifreq = zeroed();
            for (to, from) in request.ifr_name.iter_mut().zip(name.bytes().take(15)) {
                *to = libc::c_char::from_ne_bytes([from]);
            }
            let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
            request.ifr_ifru.ifru_flags = flags as i16;
            check(libc::ioctl(fd.as_raw_fd(), TUN_SET_INTERFACE as _, &raw mut request))?;
            check(libc::ioctl(fd.as_raw_fd(), TUN_SET_OFFLOAD as _, TUN_CHECKSUM))?;
            let flags = check(libc::fcntl(fd.as_raw_fd(), libc::F_GETFL))?;
            check(libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK))?;
        }
        Ok(Self(fd))
    }

    /// Returns the same interface with a duplicate of its descriptor.
    pub(crate) fn again(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Returns the descriptor of the interface.
    pub(crate) const fn fd(&self) -> &OwnedFd {
        &self.0
    }
}

/// Reads a packet and the `virtio_net_hdr` before the packet; returns the length of both together.
pub(crate) fn read(from: &Tun, buffer: &mut [u8]) -> io::Result<usize> {
    let data = buffer.as_mut_ptr().cast();
    // SAFETY: `data` points to `buffer`, and the length is the length of `buffer`.
    check_len(unsafe { libc::read(from.0.as_raw_fd(), data, buffer.len()) })
}

/// Writes a packet and the `virtio_net_hdr` before the packet.
pub(crate) fn write(to: &Tun, bytes: &[u8]) -> io::Result<()> {
    let data = bytes.as_ptr().cast();
    // SAFETY: `data` points to `bytes`, and the length is the length of `bytes`.
    check_len(unsafe { libc::write(to.0.as_raw_fd(), data, bytes.len()) }).map(drop)
}

/// Gives this thread a priority above all ordinary threads.
pub(crate) fn run_first() -> io::Result<()> {
    // SAFETY: a `sched_param` may be all zeros, and lives until the call returns.
    unsafe {
        let mut how: libc::sched_param = zeroed();
        how.sched_priority = 1;
        check(libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const how)).map(drop)
    }
}

/// Makes this process end with its parent process, `parent`. Returns false if the parent has
/// already ended.
pub(crate) fn die_with(parent: u32) -> io::Result<bool> {
    // SAFETY: the call takes no pointer.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
    Ok(std::os::unix::process::parent_id() == parent)
}

/// An epoll instance (epoll(7)).
pub(crate) struct Poll(OwnedFd);

impl Poll {
    /// Returns an instance that watches no descriptor yet.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointer; the descriptor returned belongs to the caller alone.
        unsafe { Ok(Self(OwnedFd::from_raw_fd(check(libc::epoll_create1(libc::EPOLL_CLOEXEC))?))) }
    }

    /// Watches `fd` for changes (edge-triggered), reported with `token`.
    pub(crate) fn watch(&self, fd: &OwnedFd, token: u64) -> io::Result<()> {
        let events = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLET;
        let mut event = libc::epoll_event { events: events as u32, u64: token };
        let (poll, fd) = (self.0.as_raw_fd(), fd.as_raw_fd());
        // SAFETY: `event` lives until the call returns.
        check(unsafe { libc::epoll_ctl(poll, libc::EPOLL_CTL_ADD, fd, &raw mut event) }).map(drop)
    }

    /// Waits for events, and replaces the contents of `tokens` by the tokens of the events. An
    /// interrupted call leaves `tokens` empty.
    pub(crate) fn wait(&self, tokens: &mut Vec<u64>) -> io::Result<()> {
        // SAFETY: `epoll_event` may be all zeros. The call fills at most the whole array, and only
        // the reported number of events is read.
        unsafe {
            let mut events: [libc::epoll_event; 64] = zeroed();
            let some = libc::epoll_wait(self.0.as_raw_fd(), events.as_mut_ptr(), 64, -1);
            let some = match check(some) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
                other => other? as usize,
            };
            tokens.clear();
            tokens.extend(events[..some].iter().map(|event| event.u64));
        }
        Ok(())
    }
}

/// A timer (`timerfd_create(2)`) that a [`Poll`] can watch, with nanosecond resolution.
pub(crate) struct Timer(OwnedFd);

impl Timer {
    /// Returns a timer that is not set.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: the call takes no pointer; the descriptor returned belongs to the caller alone.
        unsafe {
            let fd = libc::timerfd_create(libc::CLOCK_REALTIME, libc::TFD_NONBLOCK);
            Ok(Self(OwnedFd::from_raw_fd(check(fd)?)))
        }
    }

    /// Returns the descriptor of the timer.
    pub(crate) const fn fd(&self) -> &OwnedFd {
        &self.0
    }

    /// Sets the timer to expire at `at_ns` since 1970, or at once if that time has passed.
    pub(crate) fn set(&self, at_ns: u64) -> io::Result<()> {
        let signed = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
        let (seconds, rest) = (signed(at_ns / 1_000_000_000), signed(at_ns % 1_000_000_000));
        // SAFETY: an `itimerspec` may be all zeros, and lives until the call returns.
        unsafe {
            let mut when: libc::itimerspec = zeroed();
            when.it_value.tv_sec = seconds;
            when.it_value.tv_nsec = rest;
            let absolute = libc::TFD_TIMER_ABSTIME;
            let none = std::ptr::null_mut();
            check(libc::timerfd_settime(self.0.as_raw_fd(), absolute, &raw const when, none))
        }
        .map(drop)
    }
}
