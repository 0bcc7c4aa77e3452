//! The lists: system calls and requests a confined process is refused. Why each group is there, and no logic.

/// Calls `libc` has no name for yet. Newer calls have the same number on every architecture.
mod new {
    pub(super) const FCHMODAT2: i64 = 452;
    pub(super) const SETXATTRAT: i64 = 463;
    pub(super) const REMOVEXATTRAT: i64 = 466;
    pub(super) const OPEN_TREE_ATTR: i64 = 467;
    pub(super) const FILE_SETATTR: i64 = 469;
}

/// Answered as if the kernel did not have them, so that libraries take another way.
pub(super) const UNKNOWN: &[i64] = &[libc::SYS_clone3];

pub(super) const ALWAYS: &[i64] = &[
    // Into other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    // Work the kernel does for a process where no filter looks.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_perf_event_open,
    // Keys of the user's other programs.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Another view of the files.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    new::OPEN_TREE_ATTR,
    // Files by number instead of path.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    // The machine itself.
    libc::SYS_kexec_load,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_modify_ldt,
];

/// Changes to a file that need no right to write it, and that Landlock lets pass.
pub(super) const METADATA: &[i64] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    new::FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    new::SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    new::REMOVEXATTRAT,
    new::FILE_SETATTR,
];

/// Memory and messages shared with whoever knows their number.
pub(super) const SHARED_MEMORY: &[i64] = &[
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgsnd,
    libc::SYS_msgctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// `CLONE_NEW…`, as `clone` and `unshare` take them.
pub(super) const NAMESPACES: &[u64] =
    &[0x0002_0000, 0x0200_0000, 0x0400_0000, 0x0800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000];
/// `CLONE_NEWTIME`. In `clone` these bits are the signal at the end.
pub(super) const TIME_NAMESPACE: u64 = 0x80;

/// Everything but a stream, of the types a socket can have.
pub(super) const NOT_STREAMS: &[i32] =
    &[libc::SOCK_DGRAM, libc::SOCK_RAW, libc::SOCK_RDM, libc::SOCK_SEQPACKET, 6, 10];

pub(super) const IOCTLS: &[u64] = &[
    // Typing for somebody else: TIOCSTI, TIOCLINUX.
    0x5412,
    0x541c,
    // btrfs makes, changes and removes subvolumes by requests that pass no check of paths: SNAP_CREATE, DEFRAG,
    // SUBVOL_CREATE, SNAP_DESTROY, DEFRAG_RANGE, SNAP_CREATE_V2, SUBVOL_CREATE_V2, SUBVOL_SETFLAGS,
    // SET_RECEIVED_SUBVOL, SNAP_DESTROY_V2.
    0x5000_9401,
    0x5000_9402,
    0x5000_940e,
    0x5000_940f,
    0x4030_9410,
    0x5000_9417,
    0x5000_9418,
    0x4008_941a,
    0xc0c8_9425,
    0x5000_943f,
];

/// Attributes of files that are open for reading only: FS_IOC_SETFLAGS and its 32-bit form, FS_IOC_FSSETXATTR,
/// FS_IOC_SETVERSION and its 32-bit form, FS_IOC_SET_ENCRYPTION_POLICY, FS_IOC_ENABLE_VERITY,
/// FAT_IOCTL_SET_ATTRIBUTES.
pub(super) const METADATA_IOCTLS: &[u64] =
    &[0x4008_6602, 0x4004_6602, 0x401c_5820, 0x4008_7602, 0x4004_7602, 0x800c_6613, 0x4080_6685, 0x4004_7211];
