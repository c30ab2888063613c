"""Copies on a real pipeline: what they append is what an INSERT would store, in every version, once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

import pytest

from deploy.conftest import Running
from penstock.deploy.ingest import copy_jobs
from penstock.errors import Conflict, InvalidProject, InvalidRequest, NotFound, Overloaded
from penstock.flow.inbox.inbox import Inbox
from penstock.state.jobs import Job
from waiting import wait_until

TYPES = {
    "i8": "Int8",
    "u64": "UInt64",
    "i64": "Int64",
    "f32": "Float32",
    "f64": "Float64",
    "d": "Decimal(18, 4)",
    "b": "Bool",
    "s": "String",
    "fs": "FixedString(3)",
    "u": "UUID",
    "day": "Date",
    "far": "Date32",
    "t": "DateTime('Europe/Madrid')",
    "t6": "DateTime64(6, 'America/New_York')",
    "t9": "DateTime64(9, 'Asia/Tokyo')",
    "a8": "Array(DateTime64(8))",
    "e": "Enum8('a' = 1, 'it''s' = 2)",
    "ls": "LowCardinality(Nullable(String))",
    "n": "Nullable(Int32)",
    "a": "Array(String)",
    "an": "Array(Array(Nullable(Float64)))",
    "m": "Map(String, UInt64)",
    "mk": "Map(Date, Array(DateTime))",
    "tu": "Tuple(Int8, Nullable(String))",
    "tn": "Tuple(x DateTime64(3), y Tuple(z UInt64))",
    "v4": "IPv4",
    "v6": "IPv6",
    "j": "JSON",
    "sa": "SimpleAggregateFunction(sum, UInt64)",
}
UUID = "61f0c404-5cb3-11e7-907b-a6006ad3dba0"
ONE: dict[str, object] = {
    "i8": -128,
    "u64": 2**64 - 1,
    "i64": -(2**63),
    "f32": 0.1,
    "f64": "nan",
    "d": "-12345678901234.0001",
    "b": True,
    "s": 'a "b" \\ / é \u2028 \u0000 \n',
    "fs": "é",
    "u": UUID,
    "day": "2149-06-06",
    "far": "1900-01-01",
    "t": 1729994400 + 1800,
    "t6": -1,
    "t9": "1969-12-31 23:59:59.999999999Z",
    "a8": ["2024-01-31 23:59:59.12345678", 1],
    "e": "it's",
    "ls": None,
    "n": None,
    "a": ["", "it's", "\\"],
    "an": [[], [None, "inf", -0.0]],
    "m": {"": 2**64 - 1, 'a"b': 0},
    "mk": {"2024-01-01": [1729990800 + 1800]},
    "tu": [1, None],
    "tn": {"x": 1, "y": {"z": 2**64 - 1}},
    "v4": "1.2.3.4",
    "v6": "::1",
    "j": {"a": [1.10, None, {"b": "/"}]},
    "sa": 7,
}
TWO = {**ONE, "f64": 1e-320, "f32": "-inf", "t": 1729990800 + 1800, "t6": 1_700_000_000_123_456, "n": 0, "ls": "x"}
TWO["t9"] = 1_700_000_000_123_456_789
"""An hour that there is twice in Madrid is in `t` of both."""


def schema(paths: dict[str, str]) -> str:
    columns = [
        f"`{name}` {of} `json:{paths.get(name, '$.' + name)}`".replace("''", "\\'") for name, of in TYPES.items()
    ]
    return "SCHEMA >\n    " + ",\n    ".join(columns) + "\nENGINE MergeTree\n"


NESTED = {"u64": "$.deep.er.u64", "s": "$.deep.s", "a": "$.deep.list[:]", "j": "$.other.j"}


def copy(sql: str, target: str, rest: str = "") -> str:
    indented = sql.replace("\n", "\n    ")
    return f"NODE n\nSQL >\n    {indented}\nTYPE COPY\nTARGET_DATASOURCE {target}\n{rest}"


def ended(running: Running, job: Job) -> Job:
    jobs = running.pipeline.store.jobs
    wait_until(lambda: not jobs.get(job.id).is_open, 120, lambda: jobs.get(job.id))
    return jobs.get(job.id)


def reads(running: Running, job: Job) -> None:
    """Wait until it reads. Raises AssertionError if it has ended by then."""

    def is_reading() -> bool:
        found = running.pipeline.store.jobs.get(job.id)
        assert found.is_open, found
        return found.state == "reading"

    wait_until(is_reading, 120, lambda: running.pipeline.store.jobs.get(job.id))


def live(running: Running, files: Mapping[str, str]) -> None:
    """Make them live, if they are not."""
    made = running.deploy(files)
    assert made.id == 0 or made.state == "live", made.error


def run(running: Running, name: str, **parameters: str) -> Job:
    return ended(running, running.pipeline.copies.run(name, parameters))


def test_every_type_and_edge_is_copied_exactly(running: Running) -> None:
    files = {
        "datasources/cp_all.datasource": schema({}),
        "datasources/cp_twin.datasource": schema(NESTED),
        "copies/cp_all_copy.pipe": copy("SELECT * FROM cp_all", "cp_twin"),
    }
    live(running, files)
    running.post("cp_all", [ONE, TWO])
    assert running.ask("SELECT count() FROM cp_all_quarantine") == [(0,)]
    job = run(running, "cp_all_copy")
    assert (job.state, job.rows, job.error) == ("done", 2, None)
    assert running.ask("SELECT count() FROM cp_twin_quarantine") == [(0,)]
    names = ", ".join(TYPES)
    wanted, found = (running.ask(f"SELECT {names} FROM {each} ORDER BY t6") for each in ("cp_all", "cp_twin"))
    assert [str(row) for row in found] == [str(row) for row in wanted]
    assert len(found) == 2
    texts = running.ask("SELECT toString(max(t9)), toString(a8[1]) FROM cp_twin GROUP BY t6, a8 ORDER BY max(t9)")
    assert texts == [
        ("1970-01-01 08:59:59.999999999", "2024-01-31 23:59:59.12345678"),
        ("2023-11-15 07:13:20.123456789", "2024-01-31 23:59:59.12345678"),
    ]


SALES = "SCHEMA >\n    `shop` String,\n    `n` Int32\nENGINE MergeTree\n"
TOTALS = "SCHEMA >\n    `shop` String,\n    `total` Int64,\n    `run` UInt8,\n    `note` String DEFAULT 'none'\n"
LARGEST = "SCHEMA >\n    `shop` String,\n    `total` Int64\nENGINE MergeTree\n"
SHOPS = {
    "datasources/cp_sales.datasource": SALES,
    "datasources/cp_totals.datasource": TOTALS + "ENGINE MergeTree\n",
    "datasources/cp_large.datasource": LARGEST,
    "copies/cp_sums.pipe": copy(
        "%\nSELECT shop, sum(n) AS total, {{ UInt8(run, 1) }} AS run FROM cp_sales\n"
        "WHERE n >= {{ Int32(least) }} GROUP BY shop",
        "cp_totals",
    ),
    "pipes/cp_large_view.pipe": "NODE n\nSQL SELECT shop, total FROM cp_totals WHERE total > 3\n"
    "TYPE materialized\nDATASOURCE cp_large\n",
}


def test_a_copy_feeds_every_version_and_the_views_below(running: Running) -> None:
    live(running, SHOPS)
    running.post("cp_sales", [{"shop": "a", "n": 1}, {"shop": "a", "n": 2}, {"shop": "b", "n": 5}])
    job = run(running, "cp_sums", least="0")
    assert (job.state, job.rows, job.parameters) == ("done", 2, {"least": "0"})
    assert sorted(running.ask("SELECT * FROM cp_totals")) == [("a", 3, 1, "none"), ("b", 5, 1, "none")]
    assert running.ask("SELECT * FROM cp_large") == [("b", 5)]

    forward = "ENGINE MergeTree\nFORWARD_QUERY >\n    SELECT * REPLACE (toFloat64(total) AS total)\n"
    changed = {"datasources/cp_totals.datasource": TOTALS.replace("Int64", "Float64") + forward}
    staged = running.deploy(changed, promote=False)
    assert staged.state == "ready", staged.error
    job = run(running, "cp_sums", least="2", run="2")
    assert job.rows == 2
    wanted = [("a", 2, 2), ("a", 3, 1), ("b", 5, 1), ("b", 5, 2)]
    running.catch_up()
    for deployment in ("live", "staging"):
        found = sorted(running.ask("SELECT shop, total, run FROM cp_totals", deployment))
        assert found == wanted, deployment
        assert sorted(running.ask("SELECT * FROM cp_large", deployment)) == [("b", 5), ("b", 5)]
    running.promote()
    run(running, "cp_sums", least="5", run="3")
    running.rollback()
    running.catch_up()
    assert sorted(running.ask("SELECT shop, total, run FROM cp_totals")) == [*wanted, ("b", 5, 3)]
    running.pipeline.deployer.discard(None)


def test_calls_that_cannot_be_run_are_refused_and_a_job_that_fails_says_why(running: Running) -> None:
    files = {
        "datasources/cp_texts.datasource": "SCHEMA >\n    `s` String\nENGINE MergeTree\n",
        "copies/cp_wrong.pipe": copy(
            "%\nSELECT unhex(h) AS s FROM (SELECT {{ String(hex) }} AS h FROM numbers(3))", "cp_texts"
        ),
    }
    live(running, {**SHOPS, **files})
    with pytest.raises(NotFound, match="no copy `cp_wrongs`"):
        running.pipeline.copies.run("cp_wrongs", {})
    with pytest.raises(InvalidRequest, match="hex"):
        running.pipeline.copies.run("cp_wrong", {})
    failed = run(running, "cp_wrong", hex="FF")
    assert failed.state == "failed"
    assert failed.error is not None
    assert "UTF8" in str(failed.error["error"])
    assert running.ask("SELECT count() FROM cp_texts") == [(0,)]
    assert run(running, "cp_wrong", hex="41").rows == 3
    assert running.ask("SELECT s FROM cp_texts") == [("A",)] * 3
    with pytest.raises(Conflict, match="failed"):
        running.pipeline.copies.cancel(failed.id)
    with pytest.raises(NotFound):
        running.pipeline.store.jobs.get(10**6)


COUNTS = {
    "datasources/cp_counts.datasource": "SCHEMA >\n    `n` UInt64\nENGINE MergeTree\n",
    "copies/cp_long.pipe": copy(
        "%\nSELECT count() AS n FROM numbers({{ UInt32(rows) }}) AS a CROSS JOIN numbers({{ UInt32(rows) }}) AS b\n"
        "WHERE (a.number + b.number) % 7 = 1",
        "cp_counts",
    ),
}


def test_a_job_that_reads_is_cancelled_and_appends_nothing(running: Running) -> None:
    live(running, {**SHOPS, **COUNTS})
    job = running.pipeline.copies.run("cp_long", {"rows": "1000000"})
    waits = running.pipeline.copies.run("cp_long", {"rows": "7"})
    reads(running, job)
    spark = running.pipeline.core.warehouse.lake.spark.sparkContext
    wait_until(lambda: spark.statusTracker().getActiveJobsIds())
    assert running.pipeline.copies.cancel(job.id).state == "cancelled"
    assert ended(running, waits).state == "done"
    assert len(running.ask("SELECT n FROM cp_counts")) == 1
    third = running.pipeline.copies.run("cp_long", {"rows": "1000000"})
    fourth = running.pipeline.copies.run("cp_long", {"rows": "8"})
    assert running.pipeline.copies.cancel(fourth.id).state == "cancelled"
    reads(running, third)
    running.pipeline.copies.cancel(third.id)
    assert run(running, "cp_long", rows="9").state == "done"
    assert len(running.ask("SELECT n FROM cp_counts")) == 2


TICK = "%\nSELECT {{ UInt8(n, 1) }} AS n, toString({{ DateTime(job_timestamp) }}) AS at"
TICKS = {
    "datasources/cp_ticks.datasource": "SCHEMA >\n    `n` UInt8,\n    `at` String\nENGINE MergeTree\n",
    "copies/cp_tick.pipe": copy(TICK, "cp_ticks", "COPY_SCHEDULE 0 0 1 1 *\n"),
}


def test_a_schedule_runs_a_copy_of_live_once_for_each_time(running: Running) -> None:
    live(running, {**SHOPS, **TICKS})
    plan, key = running.pipeline.copy_schedule, ("cp_tick", "0 0 1 1 *")
    at = datetime.now(timezone.utc) - timedelta(seconds=1)
    for _ in range(2):  # as a server that had died in between would
        plan.run_once()
        assert key in plan._due
        plan._due[key] = at
        plan.run_once()
        newest = next(job for job in running.pipeline.store.jobs.recent(100) if job.pipe == "cp_tick")
        assert newest.due_at == at
        assert ended(running, newest).state == "done"
    due = at.strftime("%Y-%m-%d %H:%M:%S")
    assert running.ask("SELECT n, at FROM cp_ticks") == [(1, due)]
    changed = running.deploy({"copies/cp_tick.pipe": copy(TICK, "cp_ticks")})
    assert running.strategies(changed)["cp_tick"] == "none"
    plan.run_once()
    assert key not in plan._due


def test_a_range_is_copied_once(running: Running) -> None:
    live(running, {**SHOPS, **TICKS})
    asked = {"n": "7", "job_timestamp": "2024-05-01 00:00:00"}
    with pytest.raises(InvalidRequest, match="no parameter `m`"):  # misspelt, it would be another range
        running.pipeline.copies.run_range("cp_tick", {**asked, "m": "7"})
    first = running.pipeline.copies.run_range("cp_tick", asked)
    assert ended(running, first).state == "done"
    assert running.pipeline.copies.run_range("cp_tick", asked).id == first.id
    assert ended(running, running.pipeline.copies.run_range("cp_tick", {**asked, "n": "8"})).state == "done"
    found = sorted(running.ask("SELECT n, at FROM cp_ticks WHERE n > 1"))
    assert found == [(7, "2024-05-01 00:00:00"), (8, "2024-05-01 00:00:00")]
    assert running.pipeline.store.jobs.ranges_of("cp_tick")[0].id == first.id


def test_a_copy_that_cannot_be_written_is_refused_before_deployment(running: Running) -> None:
    pipe = copy("%\nSELECT {{ UInt8(n) }} AS nn", "cp_ticks", "COPY_SCHEDULE @on-demand\n")
    with pytest.raises(InvalidProject) as refused:
        running.deploy({**SHOPS, "copies/cp_tick.pipe": pipe})
    assert [str(each) for each in refused.value.problems] == [
        "copies/cp_tick.pipe:4:12: `cp_ticks` has no column `nn` (did you mean `n`?)"
    ]


def test_a_job_waits_for_a_data_source_that_takes_no_more(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    live(running, {**SHOPS, **TICKS})
    told: list[Job] = []
    append = Inbox.append

    def full(self: Inbox, stream: str, lines: Sequence[bytes], key: str | None) -> int:
        if len(told) < 2:
            told.append(next(job for job in running.pipeline.store.jobs.recent(100) if job.is_open))
            raise Overloaded("too much waits")
        return append(self, stream, lines, key)

    monkeypatch.setattr(Inbox, "append", full)
    before = running.ask("SELECT count() FROM cp_ticks")[0][0]
    job = run(running, "cp_tick")
    assert (job.state, job.error) == ("done", None)
    assert told[0].error is None
    assert (told[1].error or {})["error"] == "too much waits"
    assert running.ask("SELECT count() FROM cp_ticks") == [(int(str(before)) + 1,)]


def test_a_copy_leaves_room_in_the_inbox_for_posted_rows(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    live(running, {**SHOPS, **COUNTS})
    monkeypatch.setattr(copy_jobs.shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
    failed = run(running, "cp_long", rows="1000000")
    assert failed.state == "failed"
    assert failed.error is not None
    assert failed.error["code"] == "storage-full", failed.error
    assert list(running.pipeline.copies._context.folder.iterdir()) == []


def test_a_job_with_the_number_of_one_that_was_trimmed_appends_its_rows(running: Running) -> None:
    live(running, {**SHOPS, **COUNTS})
    jobs = running.pipeline.core.store.jobs
    counts = []
    for _ in range(2):
        jobs.trim(datetime.now(timezone.utc) + timedelta(seconds=1))
        job = run(running, "cp_long", rows="5")
        counts.append((job.id, len(running.ask("SELECT n FROM cp_counts"))))
    assert counts[0][0] == counts[1][0], "SQLite gives the number again"
    assert counts[1][1] == counts[0][1] + 1


PRICES = {
    "datasources/cp_base.datasource": "SCHEMA >\n    `n` Int32\nENGINE MergeTree\n",
    "datasources/cp_prices.datasource": "SCHEMA >\n    `n` Int32,\n    `run` UInt32\nENGINE MergeTree\n",
    "datasources/cp_seen.datasource": "SCHEMA >\n    `n` Int32\nENGINE MergeTree\n",
    "copies/cp_renew.pipe": copy(
        "%\nSELECT number AS n, {{ UInt32(run, 1) }} AS run FROM numbers({{ UInt32(rows, 10) }})",
        "cp_prices",
        "COPY_MODE replace\n",
    ),
    "pipes/cp_see.pipe": "NODE n\nSQL SELECT n FROM cp_prices\nTYPE materialized\nDATASOURCE cp_seen\n",
}


def test_a_copy_replaces_the_rows_of_every_version_at_one_moment(
    running: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("penstock.flow.inbox.replacement.ROWS_PER_BATCH", 400)
    deployed = running.deploy(PRICES)
    assert deployed.state == "live", deployed.error
    reasons = {each["name"]: each["reason"] for each in deployed.plan["resources"]}  # type: ignore[attr-defined, index]
    assert reasons["cp_renew"] == "new; each run replaces all rows of `cp_prices`, which does not trigger `cp_see`"
    running.post("cp_prices", [{"n": 1, "run": 0}, {"n": 2, "run": 0}])
    first = run(running, "cp_renew", rows="1000")
    assert (first.state, first.rows, first.mode) == ("done", 1000, "replace")
    assert running.ask("SELECT count(), min(run), max(run) FROM cp_prices") == [(1000, 1, 1)]
    assert sorted(running.ask("SELECT n FROM cp_seen")) == [(1,), (2,)]

    forward = "ENGINE MergeTree\nFORWARD_QUERY >\n    SELECT * REPLACE (toFloat64(run) AS run)\n"
    schema = "SCHEMA >\n    `n` Int32,\n    `run` Float64\n"
    staged = running.deploy({"datasources/cp_prices.datasource": schema + forward}, promote=False)
    assert staged.state == "ready", staged.error
    seen = set()
    job = running.pipeline.copies.run("cp_renew", {"rows": "1500", "run": "2"})
    while running.pipeline.store.jobs.get(job.id).is_open:
        seen.update(running.ask("SELECT count(), min(run), max(run) FROM cp_prices"))
    assert seen | {(1000, 1, 1), (1500, 2, 2)} == {(1000, 1, 1), (1500, 2, 2)}, "never a part of them"
    running.post("cp_prices", [{"n": 7, "run": 3}])
    for version in ("live", "staging"):
        assert running.ask("SELECT count(), min(run), max(run) FROM cp_prices", version) == [(1501, 2, 3)], version
        assert sorted(running.ask("SELECT n FROM cp_seen", version)) == [(1,), (2,), (7,)], version
    running.promote()
    assert run(running, "cp_renew", rows="0", run="4").rows == 0
    running.catch_up()
    running.rollback()
    assert running.ask("SELECT count() FROM cp_prices") == [(0,)]
    running.post("cp_prices", [{"n": 8, "run": 5}])
    assert running.ask("SELECT n, run FROM cp_prices") == [(8, 5)]
    assert sorted(running.ask("SELECT n FROM cp_seen")) == [(1,), (2,), (7,), (8,)]
    running.pipeline.deployer.discard(None)


def test_an_aggregate_below_replaced_rows_is_not_computed_anew_without_leave(running: Running) -> None:
    live(running, PRICES)
    running.post("cp_prices", [{"n": 1, "run": 0}])
    assert run(running, "cp_renew").state == "done"
    changed = {"pipes/cp_see.pipe": PRICES["pipes/cp_see.pipe"].replace("SELECT n", "SELECT n + 1 AS n")}
    with pytest.raises(InvalidProject) as refused:
        running.deploy(changed)
    assert "no longer has all its rows" in str(refused.value.problems[0])
