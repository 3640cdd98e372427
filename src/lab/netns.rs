//! Network namespaces as values: a namespace lives as long as its [`Netns`], and what is made
//! inside it (devices, addresses, routes) goes with it. Nothing of the host's own network is
//! touched.

use std::ffi::c_int;
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::sandbox;
use crate::error::{Result, Tried};

/// Prefix length of the range that all nodes share: 198.18.0.0/15, reserved for benchmarking.
pub const PREFIX_LEN: u8 = 15;
/// Largest IP packet on a link, in bytes.
pub const MTU_BYTES: u16 = 1500;
/// How TCP decides what may be under way, the first that the host allows: Linux's default, else
/// what every host allows and what is its like where nothing is lost. A host's own may be `bbr`,
/// which spaces packets by a clock.
pub const CONGESTION_CONTROLS: [&str; 2] = ["cubic", "reno"];
const CONGESTION_CONTROL_FILE: &str = "/proc/sys/net/ipv4/tcp_congestion_control";
/// Packets that may wait in a node's device for the switch to fetch them. Large, because a loss
/// here would be nobody's setting.
const TX_QUEUE_PACKETS: c_int = 20_000;

/// A place in the network: a namespace with one TUN device into the switch.
pub struct Place {
    /// Unique in the sandbox: `galera.a`, `client.a`.
    pub name: String,
    pub site: String,
    pub address: Ipv4Addr,
    pub netns: Netns,
}

impl Place {
    /// Makes the namespace and its device; the device's descriptor is for the switch.
    pub fn create(name: &str, site: &str, address: Ipv4Addr) -> Result<(Place, OwnedFd)> {
        let folder = Path::new(sandbox::INSIDE).join("netns");
        let netns = Netns::create_in(name, &folder)?;
        let tun = netns.open_tun("tun0", address)?;
        let place = Place {
            name: name.to_owned(),
            site: site.to_owned(),
            address,
            netns,
        };
        Ok((place, tun))
    }

    /// Makes `command` run in this place, as whoever runs it.
    pub fn enter(&self, command: &mut Command) -> Result<()> {
        self.netns.enter_on_exec(command)
    }
}

/// A network namespace, kept alive by an open file and, on request, by a bind mount through which
/// other processes can enter it.
#[derive(Debug)]
pub struct Netns {
    name: String,
    fd: OwnedFd,
    mounted_at: Option<PathBuf>,
}

impl Netns {
    /// A new, empty namespace with its loopback device up. `name` only serves messages.
    pub fn create(name: &str) -> Result<Netns> {
        let tried = || format!("create network namespace {name}");
        let fd = thread::scope(|scope| scope.spawn(new_namespace).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .tried(tried)?;
        let netns = Netns {
            name: name.to_owned(),
            fd,
            mounted_at: None,
        };
        netns.run(silence_ipv6)?;
        netns.run(pin_congestion_control)?;
        netns.run(|| set_up("lo"))?.tried(tried)?;
        Ok(netns)
    }

    /// As [`Netns::create`], and bind-mounted at `directory/name` until dropped. The directory is
    /// created if need be.
    pub fn create_in(name: &str, directory: &Path) -> Result<Netns> {
        let mut netns = Netns::create(name)?;
        let target = directory.join(name);
        let tried = || format!("bind network namespace {name} at {}", target.display());
        std::fs::create_dir_all(directory).tried(tried)?;
        File::create(&target).tried(tried)?;
        let source = format!("/proc/self/fd/{}", netns.fd.as_raw_fd());
        let bound = mount(
            Some(source.as_str()),
            &target,
            None::<&str>,
            MsFlags::MS_BIND,
            None::<&str>,
        );
        if bound.is_err() {
            let _ = std::fs::remove_file(&target);
        }
        bound.tried(tried)?;
        netns.mounted_at = Some(target);
        Ok(netns)
    }

    /// The name given at its creation.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// For `setns`.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Where it is bind-mounted, if it is.
    pub fn path(&self) -> Option<&Path> {
        self.mounted_at.as_deref()
    }

    /// Runs `work` on a fresh thread inside the namespace and returns its value. Sockets and
    /// devices that it opens belong to the namespace for ever, also when used from outside.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        let inside = || setns(&self.fd, CloneFlags::CLONE_NEWNET).map(|()| work());
        thread::scope(|scope| scope.spawn(inside).join())
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .tried(|| format!("enter network namespace {}", self.name))
    }

    /// TCP's congestion control here, as the kernel tells.
    ///
    /// # Errors
    /// A breakdown if the kernel does not.
    pub fn congestion_control(&self) -> Result<String> {
        let read = self.run(|| std::fs::read_to_string(CONGESTION_CONTROL_FILE))?;
        let told = read.tried(|| format!("read {CONGESTION_CONTROL_FILE}"))?;
        Ok(told.trim().to_owned())
    }

    /// Makes `command` start its program inside the namespace.
    pub fn enter_on_exec(&self, command: &mut Command) -> Result<()> {
        let fd = self
            .fd
            .try_clone()
            .tried(|| format!("hand on network namespace {}", self.name))?;
        // SAFETY: the closure only makes one system call, which is allowed between fork and exec.
        unsafe {
            command.pre_exec(move || Ok(setns(&fd, CloneFlags::CLONE_NEWNET)?));
        }
        Ok(())
    }

    /// A TUN device inside the namespace, up, with `address` in the range that all nodes share, so
    /// that every other node's packets come out of the returned file. It is non-blocking; the
    /// device goes when it is closed. No offload: one packet on the wire is one packet in the file.
    pub fn open_tun(&self, device: &str, address: Ipv4Addr) -> Result<OwnedFd> {
        self.run(|| make_tun(device, address))?.tried(|| {
            let name = &self.name;
            format!("set up TUN device {device} ({address}) in network namespace {name}")
        })
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        if let Some(path) = &self.mounted_at {
            let _ = umount2(path, MntFlags::MNT_DETACH);
            let _ = std::fs::remove_file(path);
        }
    }
}

/// To be called on a thread of its own, which it moves into the new namespace.
fn new_namespace() -> io::Result<OwnedFd> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    Ok(File::open("/proc/thread-self/ns/net")?.into())
}

/// Neighbour discovery would only add packets that no link carries. Kernels without IPv6 have no
/// such file, and where it cannot be written the switch drops and counts those packets: no error.
fn silence_ipv6() {
    for scope in ["all", "default"] {
        let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{scope}/disable_ipv6"), "1");
    }
}

/// A refusal is in a remark of the report.
fn pin_congestion_control() {
    let mut names = CONGESTION_CONTROLS.iter();
    names.any(|name| std::fs::write(CONGESTION_CONTROL_FILE, name).is_ok());
}

fn make_tun(device: &str, address: Ipv4Addr) -> io::Result<OwnedFd> {
    let tun: OwnedFd = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")?
        .into();
    let mut request = InterfaceRequest::about(device)?;
    request.0.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    request.send(&tun, libc::TUNSETIFF)?;
    // SAFETY: this request takes its argument by value.
    check(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETOFFLOAD, 0) })?;
    configure(device, address)?;
    set_up(device)?;
    Ok(tun)
}

/// Address, netmask, MTU and queue length, in an order the kernel accepts.
fn configure(device: &str, address: Ipv4Addr) -> io::Result<()> {
    let socket = control_socket()?;
    let netmask = Ipv4Addr::from(u32::MAX << (32 - PREFIX_LEN));
    let mut request = InterfaceRequest::about(device)?;
    request.0.ifr_ifru.ifru_mtu = c_int::from(MTU_BYTES);
    request.send(&socket, libc::SIOCSIFMTU)?;
    // The kernel reads the queue length from the same place as the metric.
    request.0.ifr_ifru.ifru_metric = TX_QUEUE_PACKETS;
    request.send(&socket, libc::SIOCSIFTXQLEN)?;
    request.0.ifr_ifru.ifru_addr = socket_address(address);
    request.send(&socket, libc::SIOCSIFADDR)?;
    request.0.ifr_ifru.ifru_netmask = socket_address(netmask);
    request.send(&socket, libc::SIOCSIFNETMASK)
}

fn set_up(device: &str) -> io::Result<()> {
    let socket = control_socket()?;
    let mut request = InterfaceRequest::about(device)?;
    request.send(&socket, libc::SIOCGIFFLAGS)?;
    // SAFETY: the kernel has just filled in this member of the union.
    let flags = unsafe { request.0.ifr_ifru.ifru_flags };
    request.0.ifr_ifru.ifru_flags = flags | libc::IFF_UP as libc::c_short;
    request.send(&socket, libc::SIOCSIFFLAGS)
}

/// Any socket will do: interface requests only need one of the right namespace.
fn control_socket() -> io::Result<OwnedFd> {
    let (family, kind) = (AddressFamily::Inet, SockType::Datagram);
    Ok(socket(family, kind, SockFlag::SOCK_CLOEXEC, None)?)
}

/// An interface request: the name of a device and one value.
struct InterfaceRequest(libc::ifreq);

impl InterfaceRequest {
    fn about(device: &str) -> io::Result<InterfaceRequest> {
        // SAFETY: all zero is a valid value of this plain structure.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        if device.len() >= request.ifr_name.len() {
            return Err(io::Error::other("a device name has at most 15 bytes"));
        }
        for (place, byte) in request.ifr_name.iter_mut().zip(device.bytes()) {
            *place = byte as libc::c_char;
        }
        Ok(InterfaceRequest(request))
    }

    fn send(&mut self, fd: &OwnedFd, code: libc::Ioctl) -> io::Result<()> {
        // SAFETY: every code used here takes an `ifreq`, which outlives the call.
        check(unsafe { libc::ioctl(fd.as_raw_fd(), code, &raw mut self.0) })
    }
}

fn check(returned: c_int) -> io::Result<()> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

fn socket_address(address: Ipv4Addr) -> libc::sockaddr {
    let inet = libc::sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: 0,
        sin_addr: libc::in_addr {
            s_addr: u32::from(address).to_be(),
        },
        sin_zero: [0; 8],
    };
    // SAFETY: both are plain structures of the same size, made to be cast into each other.
    unsafe { std::mem::transmute(inet) }
}
