"""Quarantines on a real pipeline: why rows are there, posting them again once in every version, and clearing."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from deploy.conftest import Running
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.errors import Conflict, NotFound
from penstock.lake.tables.physical_tables import list_tables
from penstock.state.jobs import Job
from waiting import wait_until

SIZES = "SCHEMA >\n    `id` UInt32,\n    `n` UInt8\nENGINE MergeTree\n"
FILES = {
    "datasources/qu_sizes.datasource": SIZES,
    "datasources/qu_totals.datasource": "SCHEMA >\n    `n` UInt64\nENGINE MergeTree\n",
    "pipes/qu_total.pipe": "NODE n\nSQL SELECT toUInt64(n) AS n FROM qu_sizes\nTYPE materialized\n"
    "DATASOURCE qu_totals\n",
}
WIDER = {
    "datasources/qu_sizes.datasource": SIZES.replace("UInt8", "UInt16")
    + "FORWARD_QUERY >\n    SELECT id, toUInt16(n) AS n\n"
}


def replay(running: Running, name: str) -> Job:
    job = running.pipeline.copies.replay(name)
    jobs = running.pipeline.store.jobs
    wait_until(lambda: not jobs.get(job.id).is_open, 120, lambda: jobs.get(job.id))
    running.catch_up()
    return jobs.get(job.id)


def in_quarantine(running: Running, rows: int) -> None:
    """Wait until so many rows of live are in quarantine."""
    describe = running.pipeline.quarantines.describe
    wait_until(lambda: describe("qu_sizes", "live", 0).rows == rows, 60, lambda: describe("qu_sizes", "live", 10))


def ids(running: Running, deployment: str = "live") -> list[object]:
    return sorted(id for (id,) in running.ask("SELECT id FROM qu_sizes", deployment))  # type: ignore[type-var]


def test_rows_that_fit_after_a_fix_are_posted_again_once_in_every_version(running: Running) -> None:
    assert running.deploy(FILES).state == "live"
    quarantines = running.pipeline.quarantines
    running.post("qu_sizes", [{"id": 1, "n": 1}, {"id": 2, "n": 300}, {"id": 3, "n": 301}, {"id": 4, "n": "many"}])
    body = b'{"id": 5, "n": 70000}\n{"id": 6\n{"id": 7}\n"8;1;2"'
    running.pipeline.ingestion.wait(running.pipeline.ingestion.append("qu_sizes", body, None), 60)
    in_quarantine(running, 7)  # it is committed after the rows that fit
    found = quarantines.describe("qu_sizes", "live", 2)
    assert found.rows == 7
    told = {(each.column, each.text): each.rows for each in found.reasons}
    assert told.pop(("n", "… is outside UInt8 (0 to 255)")) == 3
    assert told.pop(("n", "… is not a UInt8")) == 1
    assert told.pop(("n", "is absent and has no default")) == 1
    of_csv = "not a JSON object but a text; of CSV: a record that has too many or too few values, or is not UTF-8"
    assert told.pop((None, of_csv)) == 1
    [((column, text), rows)] = told.items()
    assert (column, text.partition(":")[0], rows) == (None, "not JSON", 1)
    assert len(found.newest) == 2
    assert replay(running, "qu_sizes").rows == 0, "nothing was corrected yet"

    staged = running.deploy(WIDER, promote=False)
    assert staged.state == "ready", staged.error
    rescue = [each["message"] for each in staged.plan["problems"] if each["code"] == "rescued-rows"]  # type: ignore[attr-defined, index]
    assert rescue == ["2 quarantined rows of `qu_sizes` would fit the new version"]
    running.post("qu_sizes", [{"id": 8, "n": 400}])  # only staging takes it
    running.promote()
    job = replay(running, "qu_sizes")
    assert (job.state, job.rows, job.kind) == ("done", 2, "replay")
    assert ids(running) == [1, 2, 3, 8], "a row that staging had is not there twice"
    assert sorted(running.ask("SELECT n FROM qu_totals")) == [(1,), (300,), (301,), (400,)]
    in_quarantine(running, 5)
    assert replay(running, "qu_sizes").rows == 0
    running.rollback()
    assert ids(running) == [1]
    in_quarantine(running, 8)
    assert replay(running, "qu_sizes").rows == 0
    running.pipeline.deployer.discard(None)


def test_a_cleared_quarantine_is_empty_and_later_rows_go_there(running: Running) -> None:
    running.deploy(FILES)
    quarantines = running.pipeline.quarantines
    before = quarantines.describe("qu_sizes", "live", 0).rows
    running.post("qu_sizes", [{"id": 20, "n": -1}])
    in_quarantine(running, before + 1)
    assert quarantines.clear("qu_sizes") == before + 1
    assert quarantines.describe("qu_sizes", "live", 10) == quarantines.describe("qu_sizes", "live", 0)
    assert quarantines.clear("qu_sizes") == 0
    running.post("qu_sizes", [{"id": 21, "n": -2}])
    in_quarantine(running, 1)
    ((_, raw, problems),) = quarantines.describe("qu_sizes", "live", 10).newest
    assert json.loads(str(raw)) == {"id": 21, "n": -2}
    assert problems == ["n: -2 is outside UInt8 (0 to 255)"]


def test_what_cannot_be_posted_again_says_so(running: Running) -> None:
    running.deploy(FILES)
    with pytest.raises(Conflict, match="a materialized view feeds it"):
        running.pipeline.copies.replay("qu_totals")
    with pytest.raises(NotFound, match="no data source `qu_size`"):
        running.pipeline.quarantines.clear("qu_size")


def test_an_endpoint_and_a_copy_read_the_rejected_rows_of_their_version(running: Running) -> None:
    sizes = "SCHEMA >\n    `id` UInt32,\n    `n` UInt8\n"
    reads = "SELECT raw, arrayStringConcat(problems, '; ') AS why FROM qr_sizes_quarantine"
    files = {
        "datasources/qr_sizes.datasource": sizes,
        "datasources/qr_kept.datasource": "SCHEMA >\n    `raw` String,\n    `why` String\n",
        "endpoints/qr_rejected.pipe": f"NODE n\nSQL >\n    %\n    {reads} ORDER BY raw LIMIT {{{{ Int32(n, 10) }}}}\n"
        "TYPE endpoint\n",
        "copies/qr_keep.pipe": f"NODE n\nSQL >\n    {reads}\nTYPE copy\nTARGET_DATASOURCE qr_kept\n",
    }
    assert running.deploy(files).state == "live"
    running.post("qr_sizes", [{"id": 1, "n": 1}, {"id": 2, "n": 300}])
    reader, jobs = running.pipeline.reader, running.pipeline.store.jobs
    wait_until(lambda: running.pipeline.quarantines.describe("qr_sizes", "live", 0).rows == 1, 60, lambda: "no row")
    ((raw, why),) = reader.endpoint("qr_rejected", {}, "live").rows
    assert (json.loads(str(raw)), "outside UInt8" in str(why)) == ({"id": 2, "n": 300}, True)
    job = running.pipeline.copies.run("qr_keep", {})
    wait_until(lambda: not jobs.get(job.id).is_open, 120, lambda: jobs.get(job.id))
    running.catch_up()
    assert running.ask("SELECT raw, why FROM qr_kept") == [(raw, why)]


def test_a_data_source_that_comes_back_while_its_tables_are_dropped(running: Running) -> None:
    """Its quarantine has the name of before: whoever drops that one leaves the new version's alone."""
    pipeline, path = running.pipeline, "datasources/qu_back.datasource"
    running.deploy({path: SIZES})
    running.deploy({path: None}, destructive=True)
    with ThreadPoolExecutor() as pool:
        with pipeline.core.flows.exclusive(["qu_back__quarantine"]):
            cleaned = pool.submit(pipeline.deployer.retire, None)
            wait_until(lambda: "qu_back" not in list_tables(pipeline.core.warehouse.lake), 60)
            made = pipeline.deployer.deploy({**running.files, path: SIZES}, DeployOptions(promote=False))
        cleaned.result()
    wait_until(lambda: pipeline.store.find(str(made.id)).state == "ready", 60)
    running.catch_up()
    running.promote(str(made.id))
    running.post("qu_back", [{"id": 1, "n": 256}, {"id": 2, "n": 2}])
    assert running.ask("SELECT id FROM qu_back") == [(2,)]
    assert pipeline.quarantines.describe("qu_back", "live", 0).rows == 1
