"""Which addresses of the network a copy may read from.

In: a host and a port, and the hosts of the machine's own networks that the server's settings allow. Out: the addresses
to connect to. Invariant: without such a setting only addresses that the whole internet reaches are given: none of this
machine, of its networks, or of a cloud's metadata service, however they are written.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import TypeAlias, Union

IPAddress: TypeAlias = Union[ipaddress.IPv4Address, ipaddress.IPv6Address]
_TRANSLATED = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("64:ff9b:1::/48"))
"""Addresses in which a gateway finds one of IPv4 (https://www.rfc-editor.org/rfc/rfc6052)."""


class ForbiddenAddress(ValueError):
    """An address that copies may not read from; the message says which setting allows it."""


def allowed_addresses(host: str, port: int, private_hosts: Sequence[str]) -> list[str]:
    """The addresses of a host, in the order in which they are tried. Raises ForbiddenAddress, OSError."""
    found = [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    shown = f"[{host}]" if ":" in host else host
    own = {each.lower() for each in private_hosts}
    if {shown.lower(), f"{shown}:{port}".lower()} & own:
        return found
    wrong = next((each for each in found if not _is_public(ipaddress.ip_address(each.partition("%")[0]))), None)
    if wrong is not None:
        raise ForbiddenAddress(
            f"`{shown}` is an address of this machine or its networks, which copies may not read; the setting "
            f'`private_hosts = ["{shown}:{port}"]` in [copies] of penstock.toml, where the server runs, allows it'
        )
    return found


def _is_public(address: IPAddress) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is not None:
            return _is_public(inner)
        if any(address in network for network in _TRANSLATED):
            return False
    return address.is_global and not address.is_multicast
