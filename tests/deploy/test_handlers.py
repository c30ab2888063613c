"""Endpoints that answer by a function in Python: what it asks, what it gives, and what is not its own."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from deploy.conftest import Running
from penstock.deploy.parity.comparison_scope import ComparisonScope
from penstock.deploy.queries.handlers.handler_pool import HandlerFailed
from penstock.errors import InvalidProject, InvalidRequest
from python_projects import problems_of, read_project

PROJECT = """
class Visit(BaseModel):
    id: Key[UInt64]
    page: str
    cost: Annotated[Decimal, ClickHouseType("Decimal(10, 2)")] = Decimal("0")

class Search(BaseModel):
    page: str = "%"
    least: int = Field(default=0, ge=0, le=100)
    days: list[str] = []
    since: date | None = None

class Page(BaseModel):
    page: str
    visits: UInt64
    cost: Annotated[Decimal, ClickHouseType("Decimal(10, 2)")]
    since: date | None
    days: list[str]
    at: clickhouse_datetime64(3) = datetime(2026, 1, 2)
    factor: float = 0.5
    note: str = FACTOR

visits = OlapTable[Visit]("hd_visits", OlapConfig(version="0.1"))

def _pages(client, like):
    return client.query.execute(
        "SELECT page, count() AS visits, sum(cost) AS cost FROM {t} WHERE page LIKE {p} GROUP BY page ORDER BY page",
        {"t": visits, "p": like},
    )

def pages(client, given: Search) -> list[Page]:
    found = [row for row in _pages(client, given.page) if row["visits"] >= given.least]
    return [Page(**row, since=given.since, days=given.days) for row in found]

def wrong(client):
    if client.query.execute(f"SELECT count() AS n FROM {visits}")[0]["n"]:
        return [{"page": "a", "visits": -1, "cost": 0, "since": None, "days": []}]
    return client.query.execute("SELECT nothing FROM nowhere")

Api[Search, list[Page]]("hd_pages", query_function=pages)
class Size(BaseModel):
    width: int

class Named(BaseModel):
    name: str
    size: Size
    sizes: list[Size]

def more(client, given: Search):
    sizes = {"size": {"width": 1}, "sizes": [{"width": 2}]}
    return [{"name": "one", **sizes}, {"name": "two", **sizes} | {given.page: "three"}]

Api[None, Page]("hd_wrong", wrong)
Api[Search, Named]("hd_more", query_function=more)
"""


def files(folder: Path, main: str) -> dict[str, str | None]:
    read = read_project(folder, main)
    assert problems_of(read) == []
    return {path: text for path, text in read.loaded.files.items() if path != "penstock.toml"}


def test_a_function_answers_from_the_deployment_that_is_called(running: Running, tmp_path: Path) -> None:
    running.deploy(files(tmp_path, PROJECT.replace("FACTOR", "'one'")))
    ask = running.pipeline.reader.endpoint
    with pytest.raises(HandlerFailed, match="nowhere") as raised:
        ask("hd_wrong", {}, "live")
    (problem,) = raised.value.problems
    assert (str(problem.location).split(":")[0], problem.hint) == (
        "endpoints/hd_wrong.pipe",
        'it was here: return client.query.execute("SELECT nothing FROM nowhere")',
    )
    rows = [{"id": number, "page": f"/{'ab'[number % 2]}'", "cost": "1.25"} for number in range(5)]
    running.post("hd_visits_0_1", rows)
    running.catch_up()
    answer = ask("hd_pages", {"page": "/%", "days": "x,y", "since": "2026-01-02"}, "live")
    assert [f"{name} {of}" for name, of in answer.columns][:4] == [
        "page String",
        "visits UInt64",
        "cost Decimal(10, 2)",
        "since Nullable(Date)",
    ]
    at, moment = date(2026, 1, 2), datetime(2026, 1, 2)
    assert [tuple(row) for row in answer.rows] == [
        ("/a'", 3, Decimal("3.75"), at, ["x", "y"], moment, 0.5, "one"),
        ("/b'", 2, Decimal("2.50"), at, ["x", "y"], moment, 0.5, "one"),
    ]
    assert len(ask("hd_pages", {"least": "3"}, "live").rows) == 1
    assert len(ask("hd_pages", {"page": "' OR 1 = 1 --"}, "live").rows) == 0
    with pytest.raises(InvalidRequest, match="least"):
        ask("hd_pages", {"least": "101"}, "live")
    with pytest.raises(HandlerFailed, match=r"row 1 .*visits"):
        ask("hd_wrong", {}, "live")
    assert [row[0] for row in ask("hd_more", {"page": "name"}, "live").rows] == ["one", "three"]
    with pytest.raises(HandlerFailed, match="row 2 of the answer has `nam`, which is none of its columns: name, size"):
        ask("hd_more", {"page": "nam"}, "live")

    running.deploy(files(tmp_path, PROJECT.replace("FACTOR", "'two'")), promote=False)
    assert {row[-1] for row in ask("hd_pages", {}, "staging").rows} == {"two"}
    assert {row[-1] for row in ask("hd_pages", {}, "live").rows} == {"one"}
    report = running.pipeline.comparison.compare("live", "staging", ComparisonScope())
    outcomes = {each.name: (each.outcome, "Python" in str(each.reason)) for each in report.endpoints}
    assert {outcomes[name] for name in ("hd_pages", "hd_wrong")} == {("not_compared", True)}
    reading = "NODE n\nSQL >\n    SELECT page FROM hd_pages\nTYPE endpoint\n"
    with pytest.raises(InvalidProject) as refused:
        running.deploy({"endpoints/hd_reads.pipe": reading})
    assert "which SQL cannot read" in str(refused.value.problems)
