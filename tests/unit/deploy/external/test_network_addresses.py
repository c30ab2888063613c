"""Copies reach the internet, and of the machine's own networks only the hosts that the settings name."""

from __future__ import annotations

import pytest

from penstock.deploy.external.network_addresses import ForbiddenAddress, allowed_addresses


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0177.0.0.1",
        "0",
        "0.0.0.0",
        "localhost",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "192.0.2.1",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fd00:ec2::254",
        "ff02::1",
        "::ffff:127.0.0.1",
        "::ffff:a9fe:a9fe",
        "64:ff9b::7f00:1",
        "64:ff9b::808:808",
        "2002:7f00:1::",
        "2001:db8::1",
    ],
)
def test_no_address_of_an_own_network_is_reached(host: str) -> None:
    with pytest.raises(ForbiddenAddress) as refused:
        allowed_addresses(host, 80, ())
    shown = f"[{host}]" if ":" in host else host
    assert f'private_hosts = ["{shown}:80"]' in str(refused.value)
    with pytest.raises(ForbiddenAddress):
        allowed_addresses(host, 80, (f"{shown}:81", f"x{shown}"))


@pytest.mark.parametrize("host", ["8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "2002:808:808::"])
def test_the_internet_is_reached(host: str) -> None:
    assert len(allowed_addresses(host, 443, ())) == 1


@pytest.mark.parametrize("allowed", ["127.0.0.1", "127.0.0.1:80"])
def test_a_setting_allows_a_host(allowed: str) -> None:
    assert allowed_addresses("127.0.0.1", 80, (allowed,)) == ["127.0.0.1"]
    assert allowed_addresses("::1", 80, ("[::1]",)) == ["::1"]
