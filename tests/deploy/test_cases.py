"""The migration cases on Spark, side by side in one deployment, while rows keep arriving: live's answers
stay those of the version before, staging's are right, then promote, rollback, promote and retire."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

import pytest

from deploy.cases_data import Case, Posting, load, together
from deploy.cases_truth import ClickHouse, Rows, Version, plain, question
from deploy.conftest import Running
from penstock.model.deployment import Deployment
from penstock.parse.load import load_files

GROUPS = {
    "in_place": ["02_add_columns", "05_rename_a_data_source", "22_delete", "06_widen"],
}
STAYS = ("none", "in_place")


@pytest.fixture(scope="module")
def clickhouse() -> ClickHouse:
    return ClickHouse()


def answers(running: Running, case: Case, side: str, deployment: str) -> dict[str, Rows]:
    """By data source, what Penstock says."""
    project = load_files(getattr(case, side)).project
    return {source.name: plain(running.pipeline.sql(question(source), deployment)) for source in project.datasources}


def truth(clickhouse: ClickHouse, version: Version) -> dict[str, Rows]:
    return {each.name: clickhouse.rows(version, question(each)) for each in version.project.datasources}


BAD = []
def same(case: Case, what: str, found: Mapping[str, Rows], wanted: Mapping[str, Rows]) -> None:
    for name, rows in wanted.items():
        extra = [row for row in found[name] if row not in rows]
        missing = [row for row in rows if row not in found[name]]
        if found[name] != rows:
            BAD.append((case.folder, what, name, len(rows), len(found[name]), "unexpected:", extra[:3], "missing:", missing[:3]))
            print("BAD", *BAD[-1], flush=True)


def is_before(running: Running, clickhouse: ClickHouse, cases: list[Case], deployment: str, what="") -> None:
    for case in cases:
        same(case, what + deployment + " is before", answers(running, case, "before", deployment), truth(clickhouse, clickhouse.before(case)))


def is_after(running: Running, clickhouse: ClickHouse, cases: list[Case], deployment: str, cuts: dict[str, int], what="") -> None:
    for case in cases:
        found = answers(running, case, "after", deployment)
        if case.folder not in cuts:
            most = max(map(len, case.sent.values()))
            for cut in range(1, most + 1):
                wanted = truth(clickhouse, clickhouse.after(case, cut))
                if all(found[name] == rows for name, rows in wanted.items()):
                    break
            cuts[case.folder] = cut
        same(case, what + deployment + f" is after, cut {cuts[case.folder]}", found, truth(clickhouse, clickhouse.after(case, cuts[case.folder])))


def test_(running: Running, clickhouse: ClickHouse) -> None:
    T = time.monotonic()

    def tell(what: str) -> None:
        print(f"{time.monotonic() - T:7.1f} {what}", flush=True)

    cases = [load(f) for f in os.environ.get("CASES", "").split() or GROUPS["in_place"]]
    made = running.deploy(together(cases, "before"))
    assert made.state == "live", made.error
    tell("before deployed")
    posts = Posting(running, cases, 1.5)
    posts.round()
    with posts.paused():
        tell("history")
    posts.start()
    cuts = {}
    try:
        staged = running.deploy({**dict.fromkeys(together(cases, "before")), **together(cases, "after")}, promote=False, destructive=True)
        tell(f"staged {staged.state} {staged.error}")
        assert staged.state == "ready"
        wanted = {name: strategy for case in cases for name, strategy in case.strategies.items()}
        found = running.strategies(staged)
        for name, strategy in wanted.items():
            if found[name] != strategy:
                print("STRATEGY", name, "golden", strategy, "run", found[name], flush=True)
        with posts.paused():
            tell("caught up")
            is_before(running, clickhouse, cases, "live")
            is_after(running, clickhouse, cases, "staging", cuts)
            tell(f"compared {cuts}")
        running.promote()
        tell("promoted")
        with posts.paused():
            is_after(running, clickhouse, cases, "live", cuts)
            tell("compared")
        running.rollback()
        tell("rolled back")
        with posts.paused():
            is_before(running, clickhouse, cases, "live", "rolled back ")
            tell("compared")
        running.promote()
        running.pipeline.retire(None)
        tell("retired")
        posts.stop()
        with posts.paused():
            tell("caught up")
            is_after(running, clickhouse, cases, "live", cuts, "end ")
            tell("compared")
        running.deploy(dict.fromkeys(together(cases, "after")), destructive=True)
        running.pipeline.retire(None)
        tell("removed")
        print("sent", {c.folder: [len(s) for s in c.sent.values()] for c in cases})
    finally:
        posts._stop.set()
        posts._thread.join()
    assert not BAD
