"""Columns with a dot in their name, in each place of a query."""

from __future__ import annotations

import pytest
from tests.unit.sql.flights import datasource, pipe, problems, query

from penstock.model.project import Project

PROJECT = Project(
    (
        datasource("spans", {"id": "String", "Events.Name": "Array(String)", "Events.At": "Array(DateTime)"}),
        datasource("Events", {"Name": "String", "id": "String"}),
        datasource("towns", {"o.city": "String", "people": "UInt64"}),
    ),
    (pipe("joined", "SELECT a.id, b.id AS other FROM Events a JOIN Events b USING (id) JOIN Events c USING (id)"),),
)


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT Events.Name, `Events.At` FROM spans", ["Events.Name", "Events.At"]),
        ("SELECT s.Events.Name, s.`Events.At` FROM spans AS s", ["Events.Name", "Events.At"]),
        (
            "SELECT length(Events.Name), Events.Name[1] FROM spans",
            ["length(Events.Name)", "arrayElement(Events.Name, 1)"],
        ),
        ("SELECT o.city, sum(people) AS n FROM towns GROUP BY o.city ORDER BY o.city", ["o.city", "n"]),
        ("WITH length(Events.Name) AS n SELECT id, n FROM spans WHERE n > 1", ["id", "n"]),
        ("SELECT id, name FROM spans ARRAY JOIN Events.Name AS name", ["id", "name"]),
        ("SELECT people FROM towns JOIN spans ON o.city = spans.id", ["people"]),
        ("SELECT Events.Name FROM (SELECT Events.Name FROM spans)", ["Events.Name"]),
    ],
)
def test_with_and_without_back_quotes(sql: str, names: list[str]) -> None:
    assert [name for name, _ in query(sql, PROJECT).columns] == names


def test_a_column_of_a_table_comes_first() -> None:
    assert query("SELECT Events.Name FROM Events", PROJECT).columns[0][1] == PROJECT.datasources[1].columns[0].type
    both = query("SELECT Events.Name FROM Events JOIN spans ON Events.id = spans.id", PROJECT)
    assert both.columns[0][1] == PROJECT.datasources[1].columns[0].type


def test_the_beginning_alone_means_nothing() -> None:
    (problem,) = problems("SELECT Events FROM spans", PROJECT)
    assert "unknown column `Events`" in problem
