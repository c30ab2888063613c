from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.commands.project_tests.fixtures import find_fixtures
from penstock.cli.commands.project_tests.row_order import orders_rows
from penstock.cli.commands.project_tests.sealed_files import seal_files
from penstock.parse.project_loader import LoadedProject, load_files

DATAFILES = {
    "z_rates.datasource": "SCHEMA >\n    currency String,\n    rate Float64\n",
    "orders.datasource": "SCHEMA >\n    currency String,\n    amount Float64\n",
    "clean.datasource": "SCHEMA >\n    currency String,\n    amount Float64\n",
    "euros.datasource": "SCHEMA >\n    euros Float64\n",
    "clean_view.pipe": "NODE n\nSQL >\n    SELECT currency, amount FROM orders\nTYPE materialized\nDATASOURCE clean\n",
    "euros_view.pipe": "NODE n\nSQL >\n    SELECT amount * rate AS euros FROM clean JOIN z_rates USING currency\n"
    "TYPE materialized\nDATASOURCE euros\n",
}


def load(files: dict[str, str] | None = None) -> LoadedProject:
    read = load_files(files or DATAFILES)
    assert read.errors == ()
    return read


def find(folder: Path, *names: str) -> tuple[list[str], list[str]]:
    (folder / "fixtures").mkdir()
    for name in names:
        (folder / "fixtures" / name).write_text("")
    problems: list = []
    found = find_fixtures(folder, load().project, problems)
    return [each.source for each in found], [f"{each.location}: {each.message}" for each in problems]


def test_tables_that_a_view_joins_come_before_the_one_that_makes_it_run(tmp_path: Path) -> None:
    found, problems = find(tmp_path, "orders.ndjson", "z_rates.csv", "README.md", ".orders.csv")
    assert (found, problems) == (["z_rates", "orders"], [])


def test_rows_of_nothing_and_rows_twice_are_problems(tmp_path: Path) -> None:
    found, problems = find(tmp_path, "order.ndjson", "orders.csv", "orders.ndjson.gz")
    assert found == ["orders"]
    assert problems == [
        "fixtures/order.ndjson:1:1: there is no data source `order` for these rows",
        "fixtures/orders.ndjson.gz:1:1: orders.csv has rows of `orders`, too",
    ]


def test_nothing_starts_by_itself_and_every_line_keeps_its_place() -> None:
    copy = "NODE n\nSQL >\n    SELECT 1 AS x\nTYPE copy\nTARGET_DATASOURCE t\n  copy_schedule */5 * * * *\n"
    source = "SCHEMA >\n    x Int64\nKAFKA_TOPIC t\nKAFKA_GROUP_ID g\nENGINE MergeTree\n"
    sealed = seal_files({"c.pipe": copy, "t.datasource": source, "penstock.toml": "KAFKA_TOPIC"})
    assert sealed["c.pipe"] == copy.replace("*/5 * * * *", "@on-demand")
    assert sealed["t.datasource"] == "SCHEMA >\n    x Int64\n\n\nENGINE MergeTree\n"
    assert sealed["penstock.toml"] == "KAFKA_TOPIC"
    assert load({"t.datasource": sealed["t.datasource"], "c.pipe": sealed["c.pipe"]}).project.pipes


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t ORDER BY a", True),
        ("SELECT a FROM t order\n by a LIMIT 3", True),
        ("%\n    SELECT a FROM t {% if defined(x) %} ORDER BY {{column(x, 'a')}} {% end %}", True),
        ("SELECT a FROM t", False),
        ("SELECT row_number() OVER (ORDER BY a) AS a FROM t", False),
        ("SELECT a FROM (SELECT a FROM t ORDER BY a) -- ORDER BY a", False),
        ("SELECT 'ORDER BY' AS a FROM t", False),
    ],
)
def test_only_an_order_of_the_whole_answer_counts(sql: str, expected: bool) -> None:
    files = {"t.datasource": "SCHEMA >\n    a Int64\n", "p.pipe": f"NODE n\nSQL >\n    {sql}\nTYPE endpoint\n"}
    [pipe] = load(files).project.pipes
    assert orders_rows(pipe) is expected
