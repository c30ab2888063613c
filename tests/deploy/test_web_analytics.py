"""The web-analytics example with rows: each endpoint answers what ClickHouse answers, for several parameters."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from deploy.conftest import Running
from deploy.web_analytics import EXAMPLE, Truth, rows
from penstock.deploy.queries.answers.answer_formats import answer_format
from penstock.errors import PenstockError
from penstock.parse.project_loader import load_folder

pytestmark = pytest.mark.slow

MARCH = {"date_from": "2026-03-01", "date_to": "2026-03-31"}
WEEK = {"date_from": "2026-03-05", "date_to": "2026-03-11"}
ONE_DAY = {"date_from": "2026-03-08", "date_to": "2026-03-08"}  # New York changes its clock
NEVER = {"date_from": "2020-01-01", "date_to": "2020-01-03"}
ODD = {"location": "ES,日本", "browser": "chrome' OR '1'='1"}
CALLS: Mapping[str, tuple[Mapping[str, str], ...]] = {
    **dict.fromkeys(
        ("top_pages", "top_locations", "top_browsers", "top_devices", "entry_pages", "exit_pages"),
        (
            MARCH,
            {**WEEK, "device": "desktop"},
            {**MARCH, "location": "ES,日本", "limit": "2", "skip": "1"},
            NEVER,
            {**MARCH, **ODD},
        ),
    ),
    "top_sources": (MARCH, {**WEEK, "own_site": "https://t.co/x"}, NEVER),
    "top_campaigns": (MARCH, {**MARCH, "by": "utm_campaign"}, {**WEEK, "medium": "mail"}, {**MARCH, "medium": "%'"}),
    "kpis": (
        {},
        MARCH,
        {**MARCH, "timezone": "Europe/Madrid"},
        {**ONE_DAY, "timezone": "America/New_York"},
        {**WEEK, "device": "bot"},
        NEVER,
    ),
    "trend": (
        {"at": "2026-03-02 12:00:00"},
        {"at": "2026-03-05 00:10:00", "minutes": "90"},
        {"at": "2020-01-01 00:00:00"},
    ),
    "current_visitors": ({"at": "2026-03-02 12:00:00"}, {"at": "2026-03-05 00:10:00", "minutes": "600"}),
    "active_hours": (
        MARCH,
        {**MARCH, "timezone": "America/New_York"},
        {**WEEK, "timezone": "Asia/Kolkata", "device": "desktop"},
    ),
    "session_lengths": (MARCH, {**WEEK, "bounds": "5,50,5000"}),
    "page_detail": (
        {**MARCH, "pathname": "/pricing"},
        {**WEEK, "pathname": "/docs/é?x"},
        {**MARCH, "pathname": "'; DROP TABLE x"},
    ),
    "compare_periods": ({}, WEEK, {**WEEK, "device": "desktop"}, NEVER),
    "actions": ({}, {"action": "click,é"}, {"version": "1", "action": "page_hit"}),
    "funnel": ({}, {"pages": "/,/docs"}, {"pages": "/signup,/a b,/pricing"}),
}
ROWS, BATCHES = 3_000, 5


@pytest.fixture(scope="module")
def truth(running: Running) -> Truth:
    """ClickHouse and Penstock with the same rows, posted in the same batches."""
    loaded = load_folder(EXAMPLE)
    assert not loaded.problems
    files = {
        str(path.relative_to(EXAMPLE)): path.read_text()
        for path in EXAMPLE.rglob("*")
        if path.suffix in (".datasource", ".pipe")
    }
    assert running.deploy(files).state == "live"
    made = Truth(loaded.project)
    every = list(rows(ROWS, seed=7))
    for start in range(0, ROWS, ROWS // BATCHES):
        batch = every[start : start + ROWS // BATCHES]
        running.post("analytics_events", batch)
        made.insert(batch)
    return made


def test_each_endpoint_is_compared() -> None:
    project = load_folder(EXAMPLE).project
    assert {pipe.name for pipe in project.pipes if pipe.endpoint is not None} == set(CALLS)
    assert len(CALLS) == 17


@pytest.mark.parametrize("name", sorted(CALLS))
def test_the_answer_is_that_of_clickhouse(name: str, running: Running, truth: Truth) -> None:
    for parameters in CALLS[name]:
        answer = running.pipeline.reader.endpoint(name, parameters, "live")
        document = json.loads(b"".join(answer_format("JSON").write(answer)))
        meta, data = truth.endpoint(name, parameters)
        columns = [column["name"] for column in meta]
        assert [column["name"] for column in document["meta"]] == columns
        assert [_plain(each["type"]) for each in document["meta"]] == [_plain(each["type"]) for each in meta], (
            parameters
        )
        ours = [[row[column] for column in columns] for row in document["data"]]
        assert ours == data, parameters


def test_the_compared_answers_have_rows(running: Running, truth: Truth) -> None:
    """What is compared is not empty."""
    assert len(truth.endpoint("top_pages", MARCH)[1]) > 4
    assert truth.endpoint("current_visitors", {"at": "2026-03-05 00:10:00", "minutes": "600"})[1][0][0]


@pytest.mark.parametrize(
    ("name", "parameters", "said"),
    [
        ("page_detail", {}, "pathname"),
        ("top_pages", {"date_from": "1st of March"}, "date_from"),
        ("top_pages", {"device": "toaster"}, "device"),
        ("top_pages", {"limit": "ten"}, "limit"),
        ("funnel", {"pages": "/"}, "two pages"),
    ],
)
def test_wrong_parameters_are_named(
    name: str, parameters: Mapping[str, str], said: str, running: Running, truth: Truth
) -> None:
    with pytest.raises(PenstockError) as refused:
        running.pipeline.reader.endpoint(name, parameters, "live")
    assert refused.value.status == 400
    assert said in str(refused.value) + str(refused.value.problems)


def _plain(of: str) -> str:
    return of.replace("LowCardinality(String)", "String")
