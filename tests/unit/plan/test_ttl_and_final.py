"""ENGINE_TTL as the condition for rows that are still to be seen."""

from __future__ import annotations

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.diff.ttl_and_final import build_ttl_filter, is_same_ttl

TEXT = (
    "SCHEMA >\n    `at` DateTime, `day` Date, `kind` String, `n` Nullable(Int32)\n\nENGINE MergeTree\nENGINE_TTL {}\n"
)
YOUNG = "coalesce({} > current_timestamp(), true)"


def keeps(ttl: str) -> str | None:
    loaded = load_files({"x.datasource": TEXT.format(ttl)})
    assert not loaded.problems, loaded.problems
    found = build_ttl_filter(loaded.project.datasources[0])
    assert not found.problems
    return found.keeps


def test_one_rule_for_all_rows() -> None:
    plain = keeps("at + INTERVAL 1 DAY")
    assert plain is not None
    assert plain.startswith("coalesce(")
    assert keeps("at + INTERVAL 1 DAY DELETE") == plain


def test_a_rule_for_some_rows_stands_in_brackets() -> None:
    """It is joined to other conditions by AND."""
    plain, some = keeps("at + INTERVAL 1 DAY"), keeps("at + INTERVAL 1 DAY DELETE WHERE kind = 'debug'")
    assert some is not None
    assert some.startswith(f"({plain} OR ")
    assert "`kind` = 'debug'" in some
    assert some.endswith(" = 0)")
    assert keeps("at + INTERVAL 1 DAY WHERE kind = 'debug'") == some


def test_rules_are_all_kept() -> None:
    both = keeps("at + INTERVAL 1 YEAR, at + INTERVAL 1 DAY DELETE WHERE n > 3")
    assert both == f"{keeps('at + INTERVAL 1 YEAR')} AND {keeps('at + INTERVAL 1 DAY WHERE n > 3')}"


def test_spelling_is_no_change() -> None:
    one, other = (
        load_files({"x.datasource": TEXT.format(ttl)}).project.datasources[0]
        for ttl in ("at + INTERVAL 1 DAY DELETE WHERE kind = 'x'", "at + toIntervalDay(1) WHERE (kind = 'x')")
    )
    assert is_same_ttl(one, other)


@pytest.mark.parametrize("ttl", ["kind", "at + INTERVAL 1 DAY WHERE cont(kind) = 1", "n DELETE WHERE n = 1"])
def test_problems(ttl: str) -> None:
    assert build_ttl_filter(load_files({"x.datasource": TEXT.format(ttl)}).project.datasources[0]).problems
