from __future__ import annotations

from penstock.model.manifest import Binding, BoundColumn, Manifest
from penstock.model.types import String
from penstock.parse.project_loader import load_files
from penstock.plan.parity.version_pairs import ComparedVersion, pair_endpoints, pair_tables

OLD = {
    "a.datasource": "SCHEMA >\n    `id` UInt8,\n    `name` String,\n    `gone` String\nENGINE MergeTree\n",
    "dropped.datasource": "SCHEMA >\n    `id` UInt8\nENGINE MergeTree\n",
    "top.pipe": "NODE n\nSQL SELECT id FROM a\nTYPE endpoint\n",
    "old.pipe": "NODE n\nSQL SELECT id FROM a\nTYPE endpoint\n",
}
NEW = {
    "a.datasource": "SCHEMA >\n    `id` UInt8,\n    `title` String,\n    `added` String DEFAULT ''\nENGINE MergeTree\n"
    "FORWARD_QUERY >\n    SELECT id, name AS title, '' AS added\n",
    "made.datasource": "SCHEMA >\n    `id` UInt8\nENGINE MergeTree\n",
    "top.pipe": OLD["top.pipe"],
    "new.pipe": OLD["old.pipe"],
}


def version(id: int, files: dict[str, str]) -> ComparedVersion:
    project = load_files({"penstock.toml": "", **files}).project
    bindings, quarantines = [], []
    for source in project.datasources:
        columns = tuple(BoundColumn(column.name, column.type, column.name) for column in source.columns)
        bindings.append(Binding(source.name, f"{source.name}__{id}", columns))
        raw = tuple(BoundColumn(name, String(), name) for name in ("inserted_at", "raw", "problems"))
        quarantines.append(Binding(f"{source.name}_quarantine", f"{source.name}__quarantine", raw))
    return ComparedVersion(id, project, Manifest(bindings=tuple(bindings), quarantines=tuple(quarantines)))


def test_a_renamed_column_is_compared_with_what_it_was() -> None:
    pairs = {pair.name: pair for pair in pair_tables(version(1, OLD), version(2, NEW))}
    assert sorted(pairs) == ["a", "a_quarantine", "dropped", "dropped_quarantine", "made", "made_quarantine"]
    assert [column.name for column in pairs["a"].columns] == ["id", "name → title"]
    assert (pairs["a"].only_left, pairs["a"].only_right) == (("gone",), ("added",))
    assert (pairs["dropped"].right, pairs["made"].left) == (None, None)
    assert [column.name for column in pairs["a_quarantine"].columns] == ["raw"]
    assert pairs["a_quarantine"].quarantine


def test_the_newer_version_may_stand_on_the_left() -> None:
    forwards = pair_tables(version(1, OLD), version(2, NEW))
    backwards = pair_tables(version(2, NEW), version(1, OLD))
    assert sorted(forwards, key=str) == sorted((pair.flipped() for pair in backwards), key=str)
    renamed = next(pair for pair in backwards if pair.left and pair.left.name == "a")
    assert renamed.columns[1].name == "title → name"


def test_endpoints_of_both_and_of_one() -> None:
    found = pair_endpoints(version(1, OLD).project, version(2, NEW).project)
    assert (found.both, found.only_left, found.only_right) == (("top",), ("old",), ("new",))
