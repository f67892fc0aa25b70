//! Tells public addresses from those that an agent may not reach (A4): this machine, its networks, the services of
//! its cloud, and other spellings of these. Pure functions: nothing is looked up or dialled here.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The address of Azure's services for its virtual machines, which looks like a public one.
const WIRE_SERVER: Ipv4Addr = Ipv4Addr::new(168, 63, 129, 16);

/// The parts of the IPv4 space that are not public: first address, prefix length, description.
const SPECIAL_V4: [(Ipv4Addr, u32, &str); 16] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8, "an unspecified address"),
    (Ipv4Addr::new(10, 0, 0, 0), 8, "a private address"),
    (Ipv4Addr::new(100, 64, 0, 0), 10, "an address that a provider shares among customers"),
    (Ipv4Addr::new(127, 0, 0, 0), 8, "a loopback address"),
    (Ipv4Addr::new(169, 254, 169, 254), 32, "a cloud's metadata address"),
    (Ipv4Addr::new(169, 254, 0, 0), 16, "a link-local address"),
    (Ipv4Addr::new(172, 16, 0, 0), 12, "a private address"),
    (Ipv4Addr::new(192, 0, 0, 0), 24, "an address of protocols"),
    (Ipv4Addr::new(192, 0, 2, 0), 24, "an address for documentation"),
    (Ipv4Addr::new(192, 88, 99, 0), 24, "a relay between address families"),
    (Ipv4Addr::new(192, 168, 0, 0), 16, "a private address"),
    (Ipv4Addr::new(198, 18, 0, 0), 15, "an address for measurements"),
    (Ipv4Addr::new(198, 51, 100, 0), 24, "an address for documentation"),
    (Ipv4Addr::new(203, 0, 113, 0), 24, "an address for documentation"),
    (Ipv4Addr::new(224, 0, 0, 0), 4, "a multicast address"),
    (Ipv4Addr::new(240, 0, 0, 0), 4, "a reserved or broadcast address"),
];

/// The same for IPv6. An address that is neither here nor in [`GLOBAL_V6`] is not assigned.
const SPECIAL_V6: [(Ipv6Addr, u32, &str); 17] = [
    (Ipv6Addr::UNSPECIFIED, 128, "an unspecified address"),
    (Ipv6Addr::LOCALHOST, 128, "a loopback address"),
    (Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0), 96, "an IPv4 address in another spelling"),
    (Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, 0, 0), 96, "an IPv4 address in another spelling"),
    (Ipv6Addr::UNSPECIFIED, 96, "an IPv4 address in another spelling"),
    (Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0), 48, "an address of a local translator"),
    (Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 0), 64, "an address that discards"),
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23, "an address of protocols"),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32, "an address for documentation"),
    (Ipv6Addr::new(0x2002, 0, 0, 0, 0, 0, 0, 0), 16, "an IPv4 address in another spelling"),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20, "an address for documentation"),
    (Ipv6Addr::new(0x5f00, 0, 0, 0, 0, 0, 0, 0), 16, "an address of protocols"),
    (Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32, "a cloud's metadata address"),
    (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7, "a private address"),
    (Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10, "a link-local address"),
    (Ipv6Addr::new(0xfec0, 0, 0, 0, 0, 0, 0, 0), 10, "a site-local address"),
    (Ipv6Addr::new(0xff00, 0, 0, 0, 0, 0, 0, 0), 8, "a multicast address"),
];

/// The part of the IPv6 space that is assigned to public machines.
const GLOBAL_V6: (Ipv6Addr, u32) = (Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);
/// The addresses by which a network without IPv4 reaches IPv4 machines (NAT64).
const TRANSLATED: (Ipv6Addr, u32) = (Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, 0, 0), 96);

/// The description of an address that no agent may reach; `None` for a public one.
pub fn refusal(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(address) => refusal_v4(address),
        IpAddr::V6(address) => refusal_v6(address),
    }
}

fn refusal_v4(address: Ipv4Addr) -> Option<&'static str> {
    if address == WIRE_SERVER {
        return Some("a cloud's metadata address");
    }
    let within = |(start, bits, _): &&(Ipv4Addr, u32, &str)| {
        shares(address.to_bits().into(), start.to_bits().into(), 32 - bits)
    };
    SPECIAL_V4.iter().find(within).map(|(_, _, what)| *what)
}

fn refusal_v6(address: Ipv6Addr) -> Option<&'static str> {
    let is_in = |(start, bits)| shares(address.to_bits(), Ipv6Addr::to_bits(start), 128 - bits);
    if is_in(TRANSLATED) {
        // It is judged as the IPv4 address that it stands for.
        let [.., a, b, c, d] = address.octets();
        return refusal_v4(Ipv4Addr::new(a, b, c, d));
    }
    let special = SPECIAL_V6.iter().find(|(start, bits, _)| is_in((*start, *bits)));
    let special = special.map(|(_, _, what)| *what);
    special.or_else(|| (!is_in(GLOBAL_V6)).then_some("an address that nobody has"))
}

/// Whether two addresses are equal apart from their last `last` bits.
fn shares(address: u128, start: u128, last: u32) -> bool {
    (address ^ start).checked_shr(last).unwrap_or(0) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<&'static str> {
        refusal(text.parse().unwrap())
    }

    #[test]
    fn a4_what_is_not_public_is_refused_and_named() {
        for (what, addresses) in [
            ("unspecified", "0.0.0.0 0.0.0.1 0.255.255.255 ::"),
            ("loopback", "127.0.0.1 127.0.0.0 127.255.255.255 127.1.2.3 ::1"),
            ("private", "10.0.0.0 10.255.255.255 172.16.0.0 172.31.255.255 192.168.0.0"),
            ("private", "192.168.255.255 fc00:: fd12:3456::1 fdff:ffff::"),
            ("shares among customers", "100.64.0.0 100.127.255.255 100.100.100.200"),
            ("link-local", "169.254.0.0 169.254.255.255 fe80::1 febf:ffff::1"),
            ("metadata", "169.254.169.254 168.63.129.16 fd00:ec2::254 fd00:ec2::23"),
            ("protocols", "192.0.0.0 192.0.0.192 192.0.0.255 2001::1 2001:2::1 2001:10::1 5f00::1"),
            ("documentation", "192.0.2.1 198.51.100.255 203.0.113.0 2001:db8::1 3fff:fff::1"),
            ("measurements", "198.18.0.0 198.19.255.255"),
            ("relay", "192.88.99.1"),
            ("multicast", "224.0.0.0 239.255.255.255 ff02::1 ff00::"),
            ("broadcast", "240.0.0.0 255.255.255.255 255.255.255.254"),
            ("another spelling", "::ffff:127.0.0.1 ::ffff:8.8.8.8 ::7f00:1 ::8.8.8.8"),
            ("another spelling", "2002:7f00:1:: 2002:808:808::1 ::ffff:0:808:808"),
            ("local translator", "64:ff9b:1::1"),
            ("discards", "100::1"),
            ("site-local", "fec0::1 feff::1"),
            ("nobody", "4000::1 1000::1 8000:: e000::1 fe00::1 100:1::1"),
        ] {
            for address in addresses.split(' ') {
                let found = of(address).unwrap_or_default();
                assert!(found.contains(what), "{address}: {found:?} is not {what:?}");
            }
        }
    }

    #[test]
    fn a4_neighbours_of_what_is_refused_are_public() {
        let public = "1.0.0.0 8.8.8.8 9.255.255.255 11.0.0.0 100.63.255.255 100.128.0.0 126.255.255.255 \
            128.0.0.0 169.253.255.255 169.255.0.0 172.15.255.255 172.32.0.0 192.0.1.0 192.0.3.0 \
            192.88.98.255 192.88.100.0 192.167.255.255 192.169.0.0 198.17.255.255 198.20.0.0 \
            198.51.99.255 198.51.101.0 203.0.112.255 203.0.114.0 223.255.255.255 168.63.129.15 \
            2000::1 2001:200::1 2001:db7::1 2001:db9::1 2003::1 2606:4700::1111 3ffe::1 3fff:1000::1";
        for address in public.split_whitespace() {
            assert_eq!(of(address), None, "{address}");
        }
    }

    #[test]
    fn a4_a_translated_address_is_judged_as_what_it_stands_for() {
        assert_eq!(of("64:ff9b::8.8.8.8"), None);
        assert!(of("64:ff9b::127.0.0.1").is_some_and(|what| what.contains("loopback")));
        assert!(of("64:ff9b::10.1.2.3").is_some_and(|what| what.contains("private")));
        assert!(of("64:ff9b::169.254.169.254").is_some_and(|what| what.contains("metadata")));
    }

    /// Every address of the IPv4 space, by its first three bytes, against the library's own words.
    #[test]
    fn a4_no_address_that_the_library_knows_as_local_passes() {
        for high in 0..=0x00ff_ffff_u32 {
            let address = Ipv4Addr::from_bits(high << 8 | 7);
            let local = address.is_private()
                || address.is_loopback()
                || address.is_link_local()
                || address.is_multicast()
                || address.is_documentation()
                || address.octets()[0] == 0;
            assert!(!local || refusal_v4(address).is_some(), "{address}");
        }
    }
}
