"""Data sources that look renamed, and a RENAMED_FROM that names none: both are said offline, too."""

from __future__ import annotations

from dataclasses import replace

from penstock.parse.project_loader import load_files
from penstock.plan.offline import NEXT_OPTIONS, plan_loaded
from penstock.plan.plan import Plan

COLUMNS = ("`a` UInt32 `json:$.a`", "`b` String `json:$.b`", "`c` String `json:$.c`")


def plan(after: dict[str, str], *, allow: bool) -> Plan:
    old, new = load_files({"clicks.datasource": source(*COLUMNS)}), load_files(after)
    assert new.problems == ()
    return plan_loaded(old, new, replace(NEXT_OPTIONS, allow_destructive=allow))


def source(*columns: str) -> str:
    return "SCHEMA >\n    " + ",\n    ".join(columns) + "\n\nENGINE MergeTree\n"


def test_one_with_nearly_the_same_columns_may_be_the_old_one() -> None:
    after = {"hits.datasource": source(*COLUMNS, "`d` String `json:$.d`"), "x.datasource": source("`a` UInt32")}
    (refused,) = plan(after, allow=False).problems
    assert refused.code == "destructive-change"
    assert "add RENAMED_FROM clicks" in (refused.hint or "")
    (warned,) = plan(after, allow=True).problems
    assert (warned.code, warned.level) == ("looks-renamed", "warning")
    assert warned.location is not None
    assert warned.location.file == "hits.datasource"


def test_one_with_other_columns_or_types_is_another_one() -> None:
    other = source(COLUMNS[0], "`b` UInt8 `json:$.b`", "`c` UInt8 `json:$.c`")
    assert plan({"hits.datasource": other}, allow=True).problems == ()


def test_an_unknown_former_name_is_a_warning_where_nothing_else_changes() -> None:
    after = {"clicks.datasource": source(*COLUMNS), "hits.datasource": "RENAMED_FROM clcks\n" + source("`a` UInt8")}
    (warned,) = plan(after, allow=False).problems
    assert (warned.code, warned.level) == ("unknown-rename", "warning")


def test_a_first_deployment_renames_nothing() -> None:
    new = load_files({"hits.datasource": "RENAMED_FROM clicks\n" + source(*COLUMNS)})
    assert plan_loaded(load_files({}), new).problems == ()
