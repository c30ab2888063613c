"""Resources by name, and the views into a data source."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import Location
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.pipe import Materialized, Node, Pipe
from penstock.model.project import Project
from penstock.model.types import Int, String

NAMES = st.sampled_from("abcd")


def view(name: str, target: str) -> Pipe:
    return Pipe(name, (Node("n", Text("SELECT 1", Location("")), Materialized(target, Location(""))),))


@given(st.lists(NAMES, unique=True), st.dictionaries(NAMES.map("p_{}".format), NAMES))
def test_each_resource_is_found_by_its_name(sources: list[str], targets: dict[str, str]) -> None:
    project = Project.of(
        (DataSource(name, (), Engine()) for name in sources), (view(*pair) for pair in targets.items())
    )
    for name in (*project.names, "nothing"):
        assert project.datasource(name) == next((each for each in project.datasources if each.name == name), None)
        assert project.pipe(name) == next((each for each in project.pipes if each.name == name), None)
    for name in "abcd":
        fed = [pipe.name for pipe, _ in project.feeders(name)]
        assert fed == sorted(pipe for pipe, target in targets.items() if target == name)


def test_the_first_column_of_a_name_is_found() -> None:
    first, second = Column("a", Int(8)), Column("a", String())
    source = DataSource("s", (first, second), Engine())
    assert source.column("a") is first
    assert source.column("b") is None


def test_paths_are_the_names_where_no_column_has_one() -> None:
    plain, given_path = Column("a", Int(8)), Column("b", Int(8), json_path="$.x")
    assert DataSource("s", (plain,), Engine()).path_of(plain) == "$.a"
    odd = Column("a[b]", Int(8))
    assert DataSource("s", (odd,), Engine()).path_of(odd) == "$['a[b]']"
    source = DataSource("s", (plain, given_path), Engine())
    assert (source.path_of(plain), source.path_of(given_path)) == (None, "$.x")
