"""ENGINE_TTL as the condition for rows that are still to be seen."""

from __future__ import annotations

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.diff.ttl_and_final import build_ttl_filter, is_same_ttl
from penstock.plan.plan import Live, PlanOptions
from penstock.plan.planner import make_plan

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


SCHEMA = "SCHEMA >\n    `at` DateTime `json:$.{}`{},\n    `to` DateTime `json:$.{}`{},\n    `n` {} `json:$.n`\n\n"
RULE = 'ENGINE MergeTree\nENGINE_TTL "at + toIntervalDay(1)"\n'


@pytest.mark.parametrize(
    ("schema", "hides"),
    [
        (SCHEMA.format("to", " RENAMED_FROM to", "at", " RENAMED_FROM at", "Int32"), True),
        (SCHEMA.format("at", "", "to", "", "Int64"), False),
        (SCHEMA.format("at2", "", "to", "", "Int32"), False),
        (SCHEMA.replace("`at`", "`since`").format("at", " RENAMED_FROM at", "to", "", "Int32"), False),
    ],
)
def test_a_ttl_of_the_same_words_may_hide_other_rows(schema: str, hides: bool) -> None:
    """They count the rows that would vanish, which needs permission."""
    before = load_files({"x.datasource": SCHEMA.format("at", "", "to", "", "Int32") + RULE}).project
    rule = RULE.replace("at +", "since +") if "since" in schema else RULE
    loaded = load_files({"x.datasource": schema + rule})
    assert not loaded.problems
    live = Live(before, make_plan(None, before, PlanOptions("d1")).manifest, {})
    plan = make_plan(live, loaded.project, PlanOptions("d2"))
    assert not plan.errors
    assert bool(plan.hides) == hides


@pytest.mark.parametrize("ttl", ["kind", "at + INTERVAL 1 DAY WHERE cont(kind) = 1", "n DELETE WHERE n = 1"])
def test_problems(ttl: str) -> None:
    assert build_ttl_filter(load_files({"x.datasource": TEXT.format(ttl)}).project.datasources[0]).problems
