"""Truncated and replaced data sources on a real pipeline: every version, views into them and below them."""

from __future__ import annotations

import json
import threading

import pytest

from deploy.conftest import Running
from penstock.deploy.lifecycle.deployer import DeployOptions
from penstock.errors import Conflict, InvalidProject, InvalidQuery, InvalidRequest
from penstock.state.batch_keys import ReusedKey

HITS = "SCHEMA >\n    `id` UInt32,\n    `page` String\nENGINE MergeTree\n"
FILES = {
    "datasources/rr_hits.datasource": HITS,
    "datasources/rr_pages.datasource": "SCHEMA >\n    `page` String,\n    `id` UInt64\nENGINE MergeTree\n",
    "pipes/rr_page.pipe": "NODE n\nSQL SELECT page, toUInt64(id) AS id FROM rr_hits\nTYPE materialized\n"
    "DATASOURCE rr_pages\n",
}
WIDER = {
    "datasources/rr_hits.datasource": HITS.replace("UInt32", "UInt64")
    + "FORWARD_QUERY >\n    SELECT id + 0 AS id, page\n"
}


def rows(running: Running, name: str, deployment: str = "live") -> list[int]:
    return sorted(int(str(id)) for (id,) in running.ask(f"SELECT id FROM {name}", deployment))


def truncate(running: Running, name: str, key: str) -> None:
    running.pipeline.ingestion.wait(running.pipeline.replacement.truncate(name, key), 60)


def post(running: Running, *ids: int, to: str = "rr_hits") -> None:
    running.post(to, [{"id": id, "page": "a"} for id in ids])


def test_all_rows_of_before_are_gone_from_every_version_and_none_of_later(running: Running) -> None:
    assert running.deploy(FILES).state == "live"
    post(running, 1, 2)
    staged = running.deploy({**WIDER}, promote=False)
    assert staged.state == "ready", staged.error
    traces = running.pipeline.row_traces("rr_hits")
    assert (traces.rows, [(each.name, each.rows) for each in traces.derived]) == (2, [("rr_pages", 2)])
    assert traces.raw_rows == 2
    assert traces.raw_until is not None
    truncate(running, "rr_hits", "a")
    truncate(running, "rr_hits", "a")
    post(running, 3)
    for version in ("live", "staging"):
        assert rows(running, "rr_hits", version) == [3], version
        assert rows(running, "rr_pages", version) == [1, 2, 3], version
    truncate(running, "rr_hits", "a")
    assert rows(running, "rr_hits") == [3], "the same key is one truncation"


def test_a_target_is_truncated_at_one_place_of_the_streams_that_its_views_read(running: Running) -> None:
    running.deploy(FILES)
    truncate(running, "rr_pages", "b")
    post(running, 4)
    post(running, 5, to="rr_pages")
    for version in ("live", "staging"):
        assert rows(running, "rr_pages", version) == [4, 5], version
    stop, posted = threading.Event(), []

    def keep_posting() -> None:
        while not stop.is_set():
            number = 100 + len(posted)
            body = json.dumps({"id": number, "page": "b"}).encode()
            running.pipeline.ingestion.append("rr_hits", body, None)
            posted.append(number)

    poster = threading.Thread(target=keep_posting)
    poster.start()
    before = len(posted)
    truncate(running, "rr_pages", "c")
    after = len(posted)
    stop.set()
    poster.join()
    running.catch_up()
    left = rows(running, "rr_pages")
    assert rows(running, "rr_pages", "staging") == left
    assert left == posted[-len(left) :] if left else True, "a place of the stream divides them"
    assert before <= len(posted) - len(left) <= after
    with pytest.raises(Conflict, match="a materialized view of deployment"):
        running.pipeline.replacement.replace("rr_pages", b'{"id": 1, "page": "x"}', "d")


def test_rows_of_a_call_replace_all_rows(running: Running) -> None:
    running.deploy(FILES)
    replacement = running.pipeline.replacement
    post(running, 6)
    body = b'{"id": 7, "page": "c"}\n{"id": -8, "page": "c"}'
    receipt = replacement.replace("rr_hits", body, "e")
    assert (receipt.successful_rows, receipt.quarantined_rows) == (1, 1)
    running.pipeline.ingestion.wait(receipt, 60)
    running.catch_up()
    for version in ("live", "staging"):
        assert rows(running, "rr_hits", version) == [7], version
    with pytest.raises(InvalidRequest, match="none of the 1 rows fits"):
        replacement.replace("rr_hits", b'{"id": -1, "page": "c"}', "f")
    assert rows(running, "rr_hits") == [7]


def delete(running: Running, name: str, where: str, key: str) -> None:
    running.pipeline.ingestion.wait(running.pipeline.deletion.delete(name, where, key), 60)
    running.catch_up()


def test_rows_of_a_person_go_from_every_version_by_its_own_columns(running: Running) -> None:
    running.deploy(FILES)
    truncate(running, "rr_pages", "g")
    post(running, 40, 41, 42, 43)
    deletion = running.pipeline.deletion
    assert deletion.count("rr_hits", "id IN (41, 42) OR page = 'nobody'") == 2
    delete(running, "rr_hits", "id IN (41, 42)", "h")
    post(running, 41)
    for version in ("live", "staging"):
        assert rows(running, "rr_hits", version) == [7, 40, 41, 43], version
        assert rows(running, "rr_pages", version) == [40, 41, 41, 42, 43], version
    delete(running, "rr_pages", "id = 41 AND page LIKE 'a%'", "i")
    post(running, 41)
    for version in ("live", "staging"):
        assert rows(running, "rr_pages", version) == [40, 41, 42, 43], version
    delete(running, "rr_hits", "id IN (41, 42)", "h")
    assert rows(running, "rr_hits") == [7, 40, 41, 41, 43], "the same key is one deletion"
    with pytest.raises(ReusedKey):
        delete(running, "rr_hits", "id = 41", "h")
    other = FILES["pipes/rr_page.pipe"].replace("FROM rr_hits", "FROM rr_hits WHERE id > 0")
    later = running.deploy({"pipes/rr_page.pipe": other}, promote=False, destructive=True)
    assert later.state == "ready", later.error  # it lands the removal into `rr_pages` too
    assert rows(running, "rr_pages", str(later.id)) == rows(running, "rr_hits")
    running.pipeline.deployer.discard(str(later.id))
    running.promote("staging")
    assert rows(running, "rr_hits") == [7, 40, 41, 41, 43]
    delete(running, "rr_hits", "id = 41", "j")
    running.rollback()
    assert rows(running, "rr_hits") == [7, 40, 43]


def test_a_condition_that_cannot_be_used_says_why(running: Running) -> None:
    running.deploy(FILES)
    with pytest.raises(InvalidQuery, match=r"rr_hits.*deployment \d+ \(live\).*idd"):
        running.pipeline.deletion.count("rr_hits", "idd = 1")
    with pytest.raises(InvalidQuery, match="depends on when"):
        running.pipeline.deletion.delete("rr_hits", "id > toUnixTimestamp(now())", "k")


REBUILT = {
    "datasources/rb_hits.datasource": HITS,
    "datasources/rb_pages.datasource": "SCHEMA >\n    `page` String,\n    `id` UInt64\nENGINE MergeTree\n",
    "datasources/rb_totals.datasource": "SCHEMA >\n    `page` String,\n    `hits` AggregateFunction(count)\n"
    "ENGINE AggregatingMergeTree\nENGINE_SORTING_KEY page\n",
    "pipes/rb_page.pipe": "NODE n\nSQL SELECT page, toUInt64(id) AS id FROM rb_hits\nTYPE materialized\n"
    "DATASOURCE rb_pages\n",
    "pipes/rb_total.pipe": "NODE n\nSQL SELECT page, countState() AS hits FROM rb_pages GROUP BY page\n"
    "TYPE materialized\nDATASOURCE rb_totals\n",
}


def total(running: Running) -> int:
    [(found,)] = running.ask("SELECT countMerge(hits) FROM rb_totals")
    return int(str(found))


def test_what_views_computed_of_deleted_rows_is_rebuilt_while_rows_arrive(running: Running) -> None:
    assert running.deploy(REBUILT).state == "live"
    post(running, 1, 2, 1, 3, to="rb_hits")
    post(running, 4, to="rb_pages")  # rows of its own are landed again
    deployer, stop, posted = running.pipeline.deployer, threading.Event(), []
    planned = deployer.rebuild("rb_hits", DeployOptions(check=True))
    assert planned is not None
    assert {each for each in running.strategies(planned).items() if each[1] != "none"} == {
        ("rb_pages", "recompute"),
        ("rb_totals", "recompute"),
    }

    def keep_posting() -> None:
        while not stop.is_set():
            number = 100 + len(posted)
            running.pipeline.ingestion.append("rb_hits", json.dumps({"id": number, "page": "b"}).encode(), None)
            posted.append(number)

    poster = threading.Thread(target=keep_posting)
    poster.start()
    try:
        running.pipeline.ingestion.wait(running.pipeline.deletion.delete("rb_hits", "id = 1", "k"), 60)
        made = deployer.rebuild("rb_hits", DeployOptions(allow_destructive=True))
        assert made is not None
        for _ in deployer.events(made.id):
            pass
    finally:
        stop.set()
        poster.join()
    running.catch_up()
    assert running.pipeline.store.find("live").id == made.id
    assert rows(running, "rb_hits") == [2, 3, *posted]
    assert rows(running, "rb_pages") == [2, 3, 4, *posted]
    assert total(running) == 3 + len(posted)
    assert rows(running, "rb_pages", "previous") == [1, 1, 2, 3, 4, *posted], "it is kept for a rollback"
    again = deployer.rebuild("rb_hits", DeployOptions(check=True))
    assert again is not None, "what is there now was made after the rows were gone"
    delete(running, "rb_hits", "id = 2", "l")
    with pytest.raises(InvalidProject, match="cannot be rebuilt") as refused:
        deployer.rebuild("rb_hits", DeployOptions(check=True))
    assert "rows were removed before" in refused.value.problems[0].message
    assert deployer.rebuild("rb_totals", DeployOptions()) is None, "nothing derives from it"
