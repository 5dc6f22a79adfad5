//! Identification of the machine's boot, and detection of network file systems.

use std::io;
use std::path::Path;

/// The boot and the time namespace of this process. Lease times are comparable only within the same boot and
/// namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Machine {
    pub(crate) boot: String,
    pub(crate) time_namespace: String,
}

impl Machine {
    #[cfg(target_os = "linux")]
    pub(crate) fn current() -> Self {
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
        Self { boot: boot.trim().to_owned(), time_namespace: namespace.to_string_lossy().into_owned() }
    }

    /// On other systems leases use the wall clock, which survives a reboot.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn current() -> Self {
        Self { boot: String::new(), time_namespace: String::new() }
    }
}

/// The type of the directory's file system, if it is a network file system.
#[cfg(target_os = "linux")]
pub(crate) fn network_file_system(path: &Path) -> io::Result<Option<&'static str>> {
    let magic = rustix::fs::statfs(path)?.f_type;
    // Sign-extended where the field is 32 bits wide.
    Ok(network_type(magic as u64 & 0xffff_ffff))
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn network_file_system(_: &Path) -> io::Result<Option<&'static str>> {
    Ok(None)
}

/// Network file systems by their `statfs(2)` magic number.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn network_type(magic: u64) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "nfs",
        0x517b => "smb",
        0xff53_4d42 => "cifs",
        0xfe53_4d42 => "smb2",
        0x564c => "ncp",
        0x5346_414f | 0x6b41_4653 => "afs",
        0x7375_7245 => "coda",
        0x0102_1997 => "9p",
        0x00c3_6400 => "ceph",
        0x0bd0_0bd0 => "lustre",
        0x4750_4653 => "gpfs",
        0x0116_1970 => "gfs2",
        0x7461_636f => "ocfs2",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known() {
        for (magic, kind) in
            [(0x6969, "nfs"), (0xff53_4d42, "cifs"), (0xfe53_4d42, "smb2"), (0x0102_1997, "9p")]
        {
            assert_eq!(network_type(magic), Some(kind));
        }
        // ext4, xfs, btrfs, tmpfs, overlayfs.
        for magic in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630] {
            assert_eq!(network_type(magic), None);
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_machine_is_known() {
        let machine = Machine::current();
        assert_eq!(machine.boot.len(), 36, "{machine:?}");
        assert_eq!(machine, Machine::current());
        assert_eq!(network_file_system(Path::new("/proc")).unwrap(), None);
    }
}
