//! Which system calls: what Landlock does not guard, and what leads around it.
//!
//! Everything is allowed but a list. A list of what is allowed would be shorter to reason about, but it would have to
//! know every program a command may run. Filters cannot look behind pointers: they judge numbers, never paths.

mod calls;

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch, apply_filter, sock_filter,
};

use super::order::{Order, Reach};

type Rules = BTreeMap<i64, Vec<SeccompRule>>;

pub(super) fn restrict(order: &Order) -> Result<(), String> {
    for program in programs(order)? {
        apply_filter(&program).map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}

/// The filters, in the order of their installation. The strictest answer of all of them counts.
pub(super) fn programs(order: &Order) -> Result<Vec<BpfProgram>, String> {
    let mut programs = Vec::new();
    if cfg!(target_arch = "x86_64") {
        programs.push(no_foreign_numbers());
    }
    let refused = refused(order).map_err(|error| format!("seccomp: {error}"))?;
    // `clone3` hides its flags behind a pointer; without it, libraries use `clone`, whose flags can be judged.
    let unknown = calls::UNKNOWN.iter().map(|call| (*call, Vec::new())).collect();
    for (rules, errno) in [(refused, libc::EPERM), (unknown, libc::ENOSYS)] {
        programs.push(compile(rules, errno).map_err(|error| format!("seccomp: {error}"))?);
    }
    Ok(programs)
}

fn compile(rules: Rules, errno: i32) -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    // Calls in the manner of another architecture end the process: their numbers mean other things.
    let refuse = SeccompAction::Errno(u32::try_from(errno).unwrap_or_default());
    SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
}

/// x32 calls have numbers of their own under the same architecture, and would pass every rule below.
fn no_foreign_numbers() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const X32: u32 = 0x4000_0000;
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let refuse = SeccompAction::Errno(u32::try_from(libc::ENOSYS).unwrap_or_default());
    vec![
        line(LOAD_WORD, 0, 0, 0),
        line(JUMP_IF_AT_LEAST, 0, 1, X32),
        line(RETURN, 0, 0, refuse.into()),
        line(RETURN, 0, 0, SeccompAction::Allow.into()),
    ]
}

fn refused(order: &Order) -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = calls::ALWAYS.iter().map(|call| (*call, Vec::new())).collect();
    if order.freeze_metadata {
        rules.extend(calls::METADATA.iter().map(|call| (*call, Vec::new())));
    }
    if order.read_only {
        rules.extend(calls::SHARED_MEMORY.iter().map(|call| (*call, Vec::new())));
    }
    namespaces(&mut rules)?;
    ioctls(&mut rules, order)?;
    // Limits of other processes; zero is one's own.
    let other = [not(0, 0)?, SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?];
    add(&mut rules, libc::SYS_prlimit64, other.to_vec())?;
    sockets(&mut rules, order)?;
    Ok(rules)
}

fn namespaces(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    for flag in calls::NAMESPACES {
        add(rules, libc::SYS_clone, vec![has(0, *flag)?])?;
        add(rules, libc::SYS_unshare, vec![has(0, *flag)?])?;
    }
    add(rules, libc::SYS_unshare, vec![has(0, calls::TIME_NAMESPACE)?])
}

fn ioctls(rules: &mut Rules, order: &Order) -> Result<(), seccompiler::BackendError> {
    let frozen = calls::METADATA_IOCTLS.iter().filter(|_| order.freeze_metadata);
    for request in calls::IOCTLS.iter().chain(frozen) {
        add(rules, libc::SYS_ioctl, vec![is(1, *request)?])?;
    }
    Ok(())
}

fn sockets(rules: &mut Rules, order: &Order) -> Result<(), seccompiler::BackendError> {
    let mut families = Vec::new();
    match order.reach {
        Reach::Anybody => families.extend([libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK]),
        Reach::Port(_) => families.extend([libc::AF_INET, libc::AF_INET6]),
        Reach::Nobody => {}
    }
    if order.local_sockets {
        families.push(libc::AF_UNIX);
    } else {
        // A connected pair is harmless, unless it is of datagrams: those can still be sent to any name.
        add(rules, libc::SYS_socketpair, vec![of_type(libc::SOCK_DGRAM)?])?;
    }
    add(rules, libc::SYS_socketpair, vec![not(0, number(libc::AF_UNIX))?])?;
    if families.is_empty() {
        rules.insert(libc::SYS_socket, Vec::new());
        return Ok(());
    }
    let others = families.iter().map(|family| not(0, number(*family))).collect::<Result<_, _>>()?;
    add(rules, libc::SYS_socket, others)?;
    match order.reach {
        Reach::Port(_) => only_plain_tcp(rules),
        Reach::Anybody | Reach::Nobody => Ok(()),
    }
}

/// Landlock judges where TCP connects to, and nothing else: not UDP, not MPTCP, and not a connection that is opened by
/// its first bytes.
fn only_plain_tcp(rules: &mut Rules) -> Result<(), seccompiler::BackendError> {
    const FAST_OPEN: u64 = 0x2000_0000;
    for family in [libc::AF_INET, libc::AF_INET6] {
        let family = number(family);
        for kind in calls::NOT_STREAMS {
            add(rules, libc::SYS_socket, vec![is(0, family)?, of_type(*kind)?])?;
        }
        let protocols = vec![is(0, family)?, not(2, 0)?, not(2, number(libc::IPPROTO_TCP))?];
        add(rules, libc::SYS_socket, protocols)?;
    }
    add(rules, libc::SYS_sendto, vec![has(3, FAST_OPEN)?])?;
    add(rules, libc::SYS_sendmsg, vec![has(2, FAST_OPEN)?])?;
    add(rules, libc::SYS_sendmmsg, vec![has(3, FAST_OPEN)?])
}

/// Refuses a call if all conditions hold. A call that is refused whatever its arguments stays so.
fn add(
    rules: &mut Rules,
    call: i64,
    conditions: Vec<SeccompCondition>,
) -> Result<(), seccompiler::BackendError> {
    let rule = SeccompRule::new(conditions)?;
    match rules.get_mut(&call) {
        Some(chain) if chain.is_empty() => {}
        Some(chain) => chain.push(rule),
        None => {
            rules.insert(call, vec![rule]);
        }
    }
    Ok(())
}

fn number(constant: i32) -> u64 {
    u64::try_from(constant).unwrap_or_default()
}

fn is(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
}

fn not(argument: u8, value: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Ne, value)
}

fn has(argument: u8, flag: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(flag), flag)
}

/// The type of a socket, without the flags that share its argument.
fn of_type(kind: i32) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(1, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(0xf), number(kind))
}

#[cfg(test)]
mod tests;
