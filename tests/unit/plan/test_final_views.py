"""A view that joins a table read with FINAL: what its flow holds, and what follows from another merge rule."""

from __future__ import annotations

from penstock.model.manifest import View
from penstock.model.merge_rule import Replacing, Summing
from penstock.parse.project_loader import load_files
from penstock.plan.planner import Live, Plan, PlanOptions, make_plan

FILES = {
    "events.datasource": "SCHEMA >\n    `k` UInt8 `json:$.k`\n\nENGINE MergeTree\nENGINE_SORTING_KEY k\n",
    "users.datasource": "SCHEMA >\n"
    "    `k` UInt8 `json:$.k`,\n    `name` String `json:$.name`,\n"
    "    `at` DateTime `json:$.at`,\n    `n` Int32 `json:$.n`\n\nENGINE ReplacingMergeTree\n"
    "ENGINE_SORTING_KEY k\nENGINE_VER at\n",
    "named.datasource": "SCHEMA >\n    `k` UInt8,\n    `name` String\n\nENGINE MergeTree\nENGINE_SORTING_KEY k\n",
    "to_named.pipe": "NODE n\nSQL >\n    SELECT e.k AS k, u.name AS name FROM events AS e"
    " JOIN users AS u FINAL ON e.k = u.k\n"
    "TYPE materialized\nDATASOURCE named\n",
}


def plan(live: Live | None, files: dict[str, str], version: str) -> Plan:
    loaded = load_files(files)
    assert not loaded.problems
    made = make_plan(live, loaded.project, PlanOptions(version))
    assert not made.errors
    return made


def view(of: Plan) -> View:
    (found,) = of.manifest.views
    return found


def live() -> Live:
    return Live(load_files(FILES).project, plan(None, FILES, "d1").manifest, {})


def test_it_reads_all_columns_by_the_rule() -> None:
    (users,) = view(plan(None, FILES, "d1")).others
    assert users.placeholder == "__final_users__"
    assert users.binding.merge == Replacing(("`k`",), "at")
    assert [column.name for column in users.binding.columns] == ["k", "name", "at", "n"]


def test_nothing_changes_nothing() -> None:
    again = plan(live(), FILES, "d2")
    assert {each.strategy for each in again.resources} == {"none"}
    assert view(again) == view(plan(None, FILES, "d1"))


def test_a_version_that_gets_another_column_makes_the_target_anew() -> None:
    """The rule has the same words, and another column decides which row is shown."""
    swapped = FILES["users.datasource"].replace(
        "`at` DateTime `json:$.at`,", "`at` DateTime `json:$.seen` RENAMED_FROM seen,\n    `seen` DateTime `json:$.at`"
    )
    users = FILES["users.datasource"].replace("`json:$.at`,", "`json:$.at`,\n    `seen` DateTime `json:$.seen`,")
    swapped = swapped.replace("`json:$.at`", "`json:$.at` RENAMED_FROM at,", 1)
    first = {**FILES, "users.datasource": users}
    before = Live(load_files(first).project, plan(None, first, "d1").manifest, {})
    changed = plan(before, {**first, "users.datasource": swapped}, "d2")
    strategies = {each.name: each.strategy for each in changed.resources if each.strategy != "none"}
    assert strategies == {"users": "in_place", "named": "recompute"}


def test_a_version_that_is_renamed_moves_no_row() -> None:
    renamed = FILES["users.datasource"].replace(
        "`at` DateTime `json:$.at`", "`seen` DateTime `json:$.at` RENAMED_FROM at"
    )
    changed = plan(live(), {**FILES, "users.datasource": renamed.replace("ENGINE_VER at", "ENGINE_VER seen")}, "d2")
    strategies = {each.name: each.strategy for each in changed.resources if each.strategy != "none"}
    assert strategies == {"users": "in_place"}
    (users,) = view(changed).others
    assert users.binding.merge == Replacing(("`k`",), "seen")


def test_another_rule_makes_the_target_anew() -> None:
    summing = FILES["users.datasource"].replace("Replacing", "Summing").replace("ENGINE_VER at", "ENGINE_COLUMNS n")
    changed = plan(live(), {**FILES, "users.datasource": summing}, "d2")
    strategies = {each.name: each.strategy for each in changed.resources if each.strategy != "none"}
    assert strategies == {"users": "in_place", "named": "recompute"}
    (users,) = view(changed).others
    assert users.binding.merge == Summing(("`k`",), ("n",), True)


def test_a_column_that_the_view_does_not_read_moves_no_row() -> None:
    for users in (
        FILES["users.datasource"].replace("\n\nENGINE", ",\n    `more` String `json:$.more`\n\nENGINE"),
        FILES["users.datasource"].replace("`json:$.n`", "`json:$.m`"),
    ):
        changed = plan(live(), {**FILES, "users.datasource": users}, "d2")
        strategies = {each.name: each.strategy for each in changed.resources if each.strategy != "none"}
        assert strategies == {"users": "in_place"}
        (shown,) = view(changed).others
        assert shown.binding == next(each for each in changed.manifest.bindings if each.name == "users")


def test_a_mark_of_deletion_that_gets_another_path_is_another_view_from_then_on() -> None:
    marked = FILES["users.datasource"].replace("`n` Int32", "`n` UInt8") + "ENGINE_IS_DELETED n\n"
    first = {**FILES, "users.datasource": marked}
    before = Live(load_files(first).project, plan(None, first, "d1").manifest, {})
    changed = plan(before, {**first, "users.datasource": marked.replace("`json:$.n`", "`json:$.m`")}, "d2")
    strategies = {each.name: each.strategy for each in changed.resources if each.strategy != "none"}
    assert strategies == {"users": "in_place", "named": "reuse"}
