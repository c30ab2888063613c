"""The text of a plan: what moves first, what is folded, what is lost, how long it takes, and why."""

from __future__ import annotations

import pytest

from penstock.cli.errors import WrongUsage
from penstock.cli.json_documents import Json
from penstock.cli.plans.plan_text import PlanView, plan_lines


def resource(name: str, strategy: str = "none", rows: int | None = 0, **more: object) -> Json:
    return {"name": name, "strategy": strategy, "reason": f"because of {name}", "rows": rows, "bytes": rows, **more}


def document(*resources: Json, **more: object) -> Json:
    change = {"resource": "a", "message": "`x` dropped", "file": "a.datasource", "line": 3}
    moved = None if any(each["rows"] is None for each in resources) else sum(each["rows"] for each in resources)
    steps = [{"message": "start the flows"}]
    return {
        "changes": [change],
        "resources": [*resources],
        "steps": steps,
        "rows_moved": moved,
        "bytes_moved": moved,
        **more,
    }


def text(plan: Json, view: PlanView | None = None) -> str:
    return "\n".join(plan_lines(plan, view or PlanView()))


def test_what_moves_most_comes_first_then_what_is_lost() -> None:
    rows = [resource("b", "reuse"), resource("c", "drop", rows_lost=5), resource("d", "recompute", 7)]
    found = text(document(*rows, resource("e", "recompute", None)))
    assert sorted("bcde", key=lambda name: found.index(f"because of {name}")) == ["e", "d", "c", "b"]
    assert "loses 5 rows" in found
    assert "moves 7 rows, 7 B" in found
    assert "moves all rows  because of e" in found


def test_changes_have_their_places() -> None:
    assert "a: `x` dropped (a.datasource:3)" in text(document())


def test_only_what_stays_is_folded() -> None:
    plan = document(resource("a"), *(resource(f"n{number}") for number in range(7)))
    assert "unchanged: n0, n1, n2, n3, n4 and 2 more (--all shows them)" in text(plan)
    assert "because of a" in text(plan), "it has a change"
    assert "start the flows" not in text(plan)
    everything = text(plan, PlanView(everything=True))
    assert "because of n6" in everything
    assert "1. start the flows" in everything


def test_the_total_says_what_is_lost_and_how_long_it_takes() -> None:
    plan = document(resource("a", "recompute", 10), rows_lost=3, estimate={"seconds": 300.0, "basis": "at 1 row/s"})
    assert text(plan).endswith("rows moved: 10, bytes moved: 10 B; rows lost: 3; about 5 min, at 1 row/s")
    unknown = {**plan, "estimate": {"seconds": None, "basis": "no server"}}
    assert text(unknown).endswith("; no estimate of the time: no server")
    assert text({**plan, "rows_moved": 0}).endswith("rows lost: 3")


def test_why_shows_the_rules_in_their_order() -> None:
    rules = [
        {"strategy": "in_place", "rule": "all stays", "applies": False, "says": "`x` changed"},
        {"strategy": "reuse", "rule": "rows are the same", "applies": True, "says": ""},
        {"strategy": "recompute", "rule": "always", "applies": True, "says": ""},
    ]
    found = text(document(resource("a", "reuse", rules=rules), resource("b")), PlanView(why=("a", "b")))
    for line in (
        "Why a is reuse",
        "1. in_place, where all stays: no: `x` changed",
        "2. reuse, where rows are the same: it applies",
        "3. recompute, where always: it would apply as well",
        "there were no rules to try: because of b",
    ):
        assert line in found
    assert "asked for" not in found
    with pytest.raises(WrongUsage, match="no resource `aa`"):
        text(document(resource("a")), PlanView(why=("aa",)))


def test_why_says_that_a_strategy_was_asked_for() -> None:
    """The rules alone would say that the first one that applies was taken."""
    rules = [
        {"strategy": "bridge", "rule": "it can be read", "applies": True, "says": ""},
        {"strategy": "forward", "rule": "it can be copied", "applies": True, "says": ""},
    ]
    view = PlanView(why=("a",))
    assert "2. forward, where it can be copied: it would apply as well\n  `forward` was asked for\n" in text(
        document(resource("a", "forward", 10, rules=rules)), view
    )
    refused = [{**each, "applies": False, "says": "there is no query"} for each in rules]
    assert "\n  no rule applies as the project is\n" in text(document(resource("a", "forward", rules=refused)), view)


def test_a_way_whose_size_is_not_known_moves_all_rows() -> None:
    rejected = [{"strategy": "forward", "rows": None, "reason": "it has no query"}]
    assert "not forward (all rows): it has no query" in text(document(resource("a", "reuse", rejected=rejected)))


def test_a_plan_of_an_earlier_version_is_shown() -> None:
    """It has no places, rules, losses and estimate."""
    plan = {**document(resource("a", "recompute", 10)), "changes": [{"resource": "a", "message": "query changed"}]}
    assert "a: query changed\n" in text(plan, PlanView(why=("a",)))


def test_columns_that_are_computed_say_until_when_and_why() -> None:
    early = {"columns": ["x"], "before_promotion": True, "rows": 5, "bytes": 50, "reason": "within the budget"}
    late = {"columns": ["y"], "before_promotion": False, "rows": 70, "bytes": 700, "reason": "700 are more than 100"}
    plan = document(
        resource("a", "bridge", unsettled=["x"], materialization=early),
        resource("b", "bridge", unsettled=["y"], materialization=late),
        resource("c", "bridge", unsettled=["z"]),
        estimate={"seconds": 10.0, "basis": "at 1 row/s"},
        materialized_later={"seconds": 7200.0, "basis": "at 1 row/s"},
    )
    found = text(plan)
    assert "written into the files before it is ready (5 rows, 50 B): `x`" in found
    assert "still computed when it is read after the promotion, until the background has written it (70 rows" in found
    assert "`y`: 700 are more than 100" in found
    assert "computed when it is read, until it is materialized: `z`" in found
    assert found.endswith(
        "bytes moved: 0 B; rewritten before it is ready: 5 rows, 50 B; about 10 s, at 1 row/s;"
        " rewritten afterwards: 70 rows, 700 B, about 2 h"
    )
    assert text(plan, PlanView(why=("b",))).count("700 are more than 100") == 2


def test_tables_of_unknown_size_are_rewritten_as_a_whole() -> None:
    late = {"columns": ["y"], "before_promotion": False, "rows": None, "bytes": None, "reason": "not known"}
    found = text(document(resource("b", "bridge", unsettled=["y"], materialization=late)))
    assert "until the background has written it: `y`: not known" in found
    assert "rewritten afterwards: all rows of some tables" in found


def test_without_sizes_nothing_is_claimed_of_the_promotion() -> None:
    unknown = {"columns": ["y"], "before_promotion": None, "rows": None, "bytes": None, "reason": "if it is small"}
    found = text(document(resource("b", "bridge", unsettled=["y"], materialization=unknown)))
    assert "computed when it is read, until it is materialized: `y` (if it is small)" in found
    assert "rewritten" not in found
