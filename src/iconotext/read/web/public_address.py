"""Decides which IP addresses are on the public internet: only those that IANA assigns to ordinary hosts.

Python's own ``is_global`` differs between versions and knows only part of the registries.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Network, ip_address, ip_network

HOSTS = IPv6Network("2000::/3")
"""Global unicast: all of IPv6 that is given to hosts. It leaves out 5f00::/16, NAT64 and addresses of IPv4 in IPv6."""

SPECIAL = tuple(
    map(
        ip_network,
        # The special-purpose registries of IANA (RFC 6890), whether or not they call a block reachable: services of
        # the network itself (AS112, relays) are no place for images either.
        (
            "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 "
            "192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 "
            "198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 "  # multicast, reserved, broadcast
            "2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3ffe::/16 3fff::/20"
        ).split(),
    )
)
"""Blocks that are not public. The last line is IPv6: protocols such as Teredo, documentation, 6to4, AS112, 6bone."""


def is_public(address: str) -> bool:
    """Whether an IP address is on the public internet; ``ValueError`` if it is not an IP address."""
    ip = ip_address(address.split("%")[0])
    return (isinstance(ip, IPv4Address) or ip in HOSTS) and not any(ip in block for block in SPECIAL)
