//! Which addresses are on the public internet, and which hosts are this machine or its neighbours.
//!
//! A page can talk a model into fetching `http://169.254.169.254/`, where clouds hand out keys; only what everybody can
//! reach is fetched. Decisions only: nothing here resolves or connects.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

/// Whether everybody can reach it.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// IANA's special-purpose registry, and one service that hides in public space.
fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let special = match (a, b, c) {
        // This network, private, loopback, private.
        (0 | 10 | 127, _, _) | (192, 168, _) => true,
        (172, 16..=31, _) => true,
        // Shared between carriers and their customers; clouds keep services here, too.
        (100, 64..=127, _) => true,
        // Link-local, where clouds keep their metadata.
        (169, 254, _) => true,
        // Protocol assignments, documentation, relays of the past, benchmarks.
        (192, 0, 0 | 2) | (192, 88, 99) | (198, 51, 100) | (203, 0, 113) | (198, 18..=19, _) => true,
        // Multicast, reserved, broadcast.
        (224.., _, _) => true,
        _ => false,
    };
    // Azure's agents ask this one for secrets of the machine.
    const AZURE: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);
    !special && address != AZURE
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    let last = Ipv4Addr::from((u32::from(segments[6]) << 16) | u32::from(segments[7]));
    match segments {
        // An IPv4 address in other clothes: mapped, or translated by NAT64.
        [0, 0, 0, 0, 0, 0xffff, _, _] | [0x64, 0xff9b, 0, 0, 0, 0, _, _] => is_public_v4(last),
        // 6to4 carries one further ahead.
        [0x2002, high, low, ..] => is_public_v4(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low))),
        // Teredo, other protocol assignments, documentation.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        // Global unicast is all there is; everything else is local, multicast or not yet given out.
        [first, ..] => (0x2000..=0x3fff).contains(&first),
    }
}

/// Whether a host is this machine, so that nobody can listen in and plain HTTP is good enough.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => is_localhost(plain(name)),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
        }
        None => false,
    }
}

/// Whether a host can be told to be private by looking at it. A name that looks public is looked up later.
pub(super) fn looks_private(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = plain(name);
            // A name without a dot is one of the local network.
            is_localhost(name)
                || !name.contains('.')
                || [".local", ".internal", ".intranet", ".lan", ".home.arpa"]
                    .iter()
                    .any(|end| name.ends_with(end))
        }
        Some(Host::Ipv4(address)) => !is_public_v4(address),
        Some(Host::Ipv6(address)) => !is_public_v6(address),
        None => true,
    }
}

/// The URL parser has made it lower case already.
fn plain(name: &str) -> &str {
    name.strip_suffix('.').unwrap_or(name)
}

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

/// Whether two addresses belong to one host: `www.` before a name makes no difference.
pub(super) fn same_host(one: &Url, other: &Url) -> bool {
    let bare =
        |url: &Url| url.host_str().map(|host| plain(host.strip_prefix("www.").unwrap_or(host)).to_owned());
    bare(one).is_some()
        && bare(one) == bare(other)
        && one.port_or_known_default() == other.port_or_known_default()
}
