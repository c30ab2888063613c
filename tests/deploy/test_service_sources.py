"""Service data sources on a real pipeline: in SQL, in endpoints, in copies, and right about the latest calls."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from deploy.conftest import Running
from penstock.model.service_sources import NEVER_FILLED, SERVICE_SOURCES
from penstock.state.logs.call_log import CallRecord
from waiting import wait_until

KEPT = "SCHEMA >\n    `job` String,\n    `status` String,\n    `at` DateTime\nENGINE MergeTree\n"
COPY = (
    "NODE n\nSQL >\n    SELECT job_id AS job, status, created_at AS at FROM tinybird.jobs_log"
    " WHERE job_type = 'deployment'\nTYPE copy\nTARGET_DATASOURCE ss_kept\n"
)
ENDPOINT = (
    "NODE n\nSQL >\n    %\n    SELECT pipe_name, count() AS n, sum(read_rows) AS rows, countIf(error = 1) AS bad\n"
    "    FROM tinybird.pipe_stats_rt WHERE parameters['country'] = {{String(country, 'DE')}}\n"
    "    AND start_datetime > now() - INTERVAL 1 HOUR GROUP BY pipe_name ORDER BY pipe_name\nTYPE endpoint\n"
)
FILES = {"ss_kept.datasource": KEPT, "ss_copy.pipe": COPY, "ss_stats.pipe": ENDPOINT}


def called(pipe: str, status: int = 200, **parameters: str) -> CallRecord:
    error = (None, None) if status == 200 else ("invalid-query", "it's wrong")
    at = datetime.now(timezone.utc)
    return CallRecord(at, pipe, "live", 0.125, 2**40, 7, 3, status, *error, "r", "ci", "GET", "curl", parameters)


@pytest.fixture(scope="module")
def deployed(running: Running) -> Running:
    assert running.deploy(FILES).state == "live"
    return running


def rows(running: Running, sql: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in running.pipeline.reader.sql(sql, "live").rows]


def test_an_endpoint_counts_the_calls_of_seconds_ago(deployed: Running) -> None:
    calls = deployed.pipeline.store.calls
    for each in (called("ss_a", country="DE"), called("ss_a", 400, country="DE"), called("ss_b", country="FR")):
        calls.add(each)
    answer = deployed.pipeline.reader.endpoint("ss_stats", {}, "live")
    assert [tuple(row) for row in answer.rows] == [("ss_a", 2, 2**41, 1)]
    calls.add(called("ss_b", country="DE"))
    assert len(deployed.pipeline.reader.endpoint("ss_stats", {}, "live").rows) == 2
    assert rows(deployed, "SELECT pipe_name, status_code, error FROM tinybird.endpoint_errors") == [
        ("ss_a", 400, "it's wrong")
    ]
    stats = "SELECT requests, errors, p50, p95, result_rows FROM penstock.endpoint_stats WHERE pipe_name = 'ss_a'"
    assert rows(deployed, stats) == [(2, 1, 0.125, 0.125, 6)]
    days = rows(
        deployed,
        "SELECT sum(view_count), sum(error_count), avgMerge(avg_duration_state),"
        " quantilesTimingMerge(0.9, 0.95, 0.99)(quantile_timing_state) FROM tinybird.pipe_stats"
        " WHERE pipe_name = 'ss_a'",
    )
    assert [(*row[:3], list(row[3])) for row in days] == [(2, 1, 0.125, [125.0, 125.0, 125.0])]  # type: ignore[call-overload]


@pytest.mark.parametrize(
    "name",
    [source.name for source in SERVICE_SOURCES.values()],
)
def test_each_can_be_read_as_a_whole(deployed: Running, name: str) -> None:
    found = deployed.pipeline.reader.sql(f"SELECT * FROM penstock.{name} LIMIT 5", "live")
    assert found.columns
    assert bool(len(found.rows)) or name in (
        "datasources_ops_log",
        "datasources_ops_stats",
        "audit_log",
        "kafka_ops_log",
        "sinks_ops_log",
        *NEVER_FILLED,
    )


def test_the_organization_has_this_workspace(deployed: Running) -> None:
    counted = rows(
        deployed,
        "SELECT w.name, countIf(s.pipe_name = 'ss_a') > 0 FROM organization.pipe_stats_rt AS s"
        " JOIN organization.workspaces AS w ON s.workspace_id = w.workspace_id GROUP BY w.name",
    )
    assert [(name, bool(found)) for name, found in counted] == [("penstock", True)]


def test_a_copy_stores_jobs(deployed: Running) -> None:
    job = deployed.pipeline.copies.run("ss_copy", {})
    wait_until(lambda: not deployed.pipeline.store.jobs.get(job.id).is_open)
    done = deployed.pipeline.store.jobs.get(job.id)
    assert (done.state, done.rows) == ("done", 1), done
    wait_until(lambda: rows(deployed, "SELECT status FROM ss_kept") == [("done",)])
    assert rows(deployed, "SELECT job_id, status, rows FROM penstock.jobs_log WHERE kind = 'copy'") == [
        (str(job.id), "done", 1)
    ]
    storage = "SELECT rows, rows_quarantine FROM tinybird.datasources_storage WHERE datasource_name = 'ss_kept'"
    assert rows(deployed, storage) == [(1, 0)]


def test_they_are_listed_and_described(deployed: Running) -> None:
    assert ("pipe_stats_rt", "service data source") in rows(deployed, "SHOW TABLES FROM tinybird")
    described = rows(deployed, "DESCRIBE tinybird.pipe_stats_rt")
    assert ("parameters", "Map(String, String)") in [row[:2] for row in described]
    explained = rows(deployed, "EXPLAIN SELECT count() FROM penstock.pipe_stats")
    assert any("penstock__pipe_stats_rt" in str(line) for (line,) in explained)


def test_answers_say_what_they_read(deployed: Running) -> None:
    found = deployed.pipeline.reader.sql("SELECT count() FROM ss_kept WHERE job != ''", "live")
    assert found.rows_read == rows(deployed, "SELECT count() FROM ss_kept")[0][0]
    assert found.bytes_read > 0
