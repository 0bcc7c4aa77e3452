//! Giving up what a process holds besides access to files: open descriptors, capabilities, the way to get new ones.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set,
    set_capabilities, set_no_new_privs,
};

use super::order::Order;

/// Of root's capabilities, what reading needs. Files of others stay readable, as they are to root.
const READING: CapabilitySet = CapabilitySet::DAC_READ_SEARCH;
/// And working. In containers root works on files of other owners; where it may do so, Landlock and mounts say.
const WORKING: CapabilitySet = READING
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::CHOWN)
    .union(CapabilitySet::FSETID);

pub(super) fn drop(order: &Order) -> Result<(), String> {
    // What posse's own parent left open for writing would be a way around every path.
    close_fds::set_fds_cloexec(3, &[]);
    // A dump is written by others, with their rights. One byte, and not none, also keeps it from a program that
    // collects them.
    let no_dump = Rlimit { current: Some(1), maximum: Some(1) };
    // Where nothing is allowed already, one byte would be more.
    if getrlimit(Resource::Core).maximum != Some(0) {
        setrlimit(Resource::Core, no_dump).map_err(|error| format!("core dumps stay on: {error}"))?;
    }
    let keep = if order.read_only { READING } else { WORKING };
    drop_capabilities(keep).map_err(|error| format!("capabilities cannot be dropped: {error}"))?;
    set_no_new_privs(true).map_err(|error| format!("new privileges cannot be ruled out: {error}"))
}

/// With `no_new_privs`, what is not permitted now never will be, also for root.
fn drop_capabilities(keep: CapabilitySet) -> rustix::io::Result<()> {
    let now = rustix::thread::capabilities(None)?;
    if now.permitted.is_empty() {
        return Ok(());
    }
    // Only a second lock: it needs a right that root may not have.
    if now.effective.contains(CapabilitySet::SETPCAP) {
        for number in 0..64 {
            let one = CapabilitySet::from_bits_retain(1 << number);
            if !keep.contains(one) && remove_capability_from_bounding_set(one).is_err() {
                break;
            }
        }
    }
    clear_ambient_capability_set()?;
    let kept = now.permitted.intersection(keep);
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: kept, permitted: kept, inheritable: none })
}
