"""Every public suffix that the jar knows is one for ClickHouse; names that are near to them are none for both."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.differential.engines import ClickHouse, Spark

from penstock.lake.spark.packages import TEXT_FUNCTIONS_JAR

pytestmark = pytest.mark.spark

SOURCE = Path(TEXT_FUNCTIONS_JAR).with_name("PublicSuffixes.java")
MANY = 1_000


def suffixes() -> list[str]:
    """The names that the source has, each of two labels."""
    parts = SOURCE.read_text(encoding="utf-8").split("String PART_")[1:]
    told = ("".join(re.findall(r'^ +(?:\+ )?"(.*)";?$', part, re.MULTILINE)) for part in parts)
    groups = (group.split(":") for part in told for group in part.split(" "))
    return [f"{label}.{ending}" for ending, labels in groups for label in labels.split(",")]


def test_every_suffix(clickhouse: ClickHouse, quick: Spark) -> None:
    known = suffixes()
    assert len(known) > 5_000
    near = [f"x{each}" for each in known[::7]] + [each.upper() for each in known[::11]]
    for names, label in ((known, "b"), (near, None)):
        for start in range(0, len(names), MANY):
            told = " ".join(names[start : start + MANY])
            names_of_hosts = f"SELECT arrayJoin(splitByChar(' ', '{told}')) AS s"
            sql = f"SELECT s, firstSignificantSubdomain(concat('http://a.b.', s)) FROM ({names_of_hosts}) ORDER BY s"
            _, _, theirs = clickhouse.rows(sql)
            assert quick.rows(quick.compile(sql)) == theirs
            assert label is None or {found for _, found in theirs} == {label}
