"""Which regular expressions Java reads and matches without a call for each character."""

from __future__ import annotations

import pytest

from penstock.sql.analysis.pattern_groups import count_groups
from penstock.sql.functions.network import urls


@pytest.mark.parametrize(
    ("pattern", "groups"),
    [
        ("", 0),
        ("abc", 0),
        ("(?s)a(b)", 1),
        (r"^[^/]*(?://[^/]*)?+(/[^?#]*)", 1),
        (r"(a)?([b-d]{1,3}?)\.", 2),
        (r"\Q(a|b)*\E", 0),
        (r"[\x00-\x7F.+-]+", 0),
        (r"(?<![.])(?=[:/?#]|\z)", 0),
        (urls._DOMAIN, 1),
        (urls._WITHOUT_WWW, 1),
    ],
)
def test_flat(pattern: str, groups: int) -> None:
    assert count_groups(pattern) == groups


@pytest.mark.parametrize(
    "pattern",
    [
        "(a|b)*",
        "(ab)+",
        "(ab){2}",
        "(?:a?)?*",
        "a**",
        "(",
        "a)",
        "[",
        "[z-a]",
        "[a&&b]",
        "[a-z-9]",
        "[[:alpha:]]",
        "a{3,2}",
        "{2}",
        "*a",
        r"\1",
        r"\p{L}",
        r"\k<x>",
        "(?<x>a)",
        "(?i:a)",
        "(?x)a",
        r"\Qa",
        "(?<=a*)b",
        "\\",
    ],
)
def test_not_flat(pattern: str) -> None:
    assert count_groups(pattern) is None
