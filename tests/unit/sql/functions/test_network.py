"""Calls of functions on IP addresses that are refused, with the reason."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import problems

REFUSED = {
    "IPv6CIDRToRange(toNullable(toIPv6('::1')), 1)": "takes an IPv6 that is not Nullable and a literal prefix",
    "isIPAddressInRange(carrier, '1.2.3.4')": "is not a range of addresses",
    "IPv4CIDRToRange(toIPv4(carrier), -1)": "must be a literal number from 0",
}


@pytest.mark.parametrize("call", REFUSED)
def test_refused(call: str) -> None:
    (problem,) = problems(f"SELECT {call} FROM flights")
    assert REFUSED[call] in problem
