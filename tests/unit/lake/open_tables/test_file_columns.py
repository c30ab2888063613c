"""What manifests tell of files is what their footers tell, and what is in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from penstock.lake.open_tables import file_columns
from penstock.lake.open_tables.file_columns import FileColumnsReader
from penstock.lake.open_tables.shown_columns import FileColumns

FIRST = pa.schema([("a", pa.string()), ("_seq", pa.int64())])
LATER = pa.schema([*FIRST, ("b", pa.int32()), ("c", pa.list_(pa.string()))])


def stored(folder: Path, properties: Mapping[str, str]) -> Table:
    catalog = SqlCatalog("c", uri=f"sqlite:///{folder / 'catalog.db'}", warehouse=f"file://{folder / 'w'}")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", FIRST, properties=dict(properties))
    table.append(pa.Table.from_pylist([{"a": "x", "_seq": 3}, {"a": None, "_seq": 7}], FIRST))
    with table.update_schema() as update:
        update.union_by_name(LATER)
    table.append(
        pa.Table.from_pylist([{"a": "y", "_seq": n, "b": n if n > 8 else None, "c": []} for n in (8, 9)], LATER)
    )
    table.append(pa.Table.from_pylist([{"a": "z", "_seq": None, "b": 1, "c": None}], LATER))
    return catalog.load_table("n.t")


def read(table: Table, reader: FileColumnsReader) -> list[tuple[object, ...]]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    ids = frozenset(table.schema().find_field(name).field_id for name in ("a", "b"))
    names = {table.schema().find_field(name).field_id: name for name in ("a", "b")}

    def shown(file: FileColumns) -> tuple[object, ...]:
        return file.rows, file.low, file.high, sorted((names[id], nulls) for id, nulls in file.nulls.items())

    return sorted(map(shown, reader.read(table, snapshot, ids)), key=repr)


EXPECTED = sorted(
    [(2, 3, 7, [("a", 1)]), (2, 8, 9, [("a", 0), ("b", 1)]), (1, None, None, [("a", 0), ("b", 0)])], key=repr
)


def test_by_the_counts_of_the_manifests(tmp_path: Path) -> None:
    assert read(stored(tmp_path, {}), FileColumnsReader()) == EXPECTED


def test_by_the_footers_where_manifests_have_no_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = stored(tmp_path, {"write.metadata.metrics.default": "none"})
    monkeypatch.setattr(file_columns, "COUNTED_COLUMNS", 1)
    assert read(table, FileColumnsReader()) == EXPECTED


def test_what_was_read_is_remembered(tmp_path: Path) -> None:
    table, reader = stored(tmp_path, {}), FileColumnsReader()
    found = read(table, reader)
    snapshot = table.current_snapshot()
    assert snapshot is not None
    for manifest in snapshot.manifests(table.io):
        Path(manifest.manifest_path.removeprefix("file://")).unlink()
    assert read(table, reader) == found


def test_only_so_much_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_columns, "MOST_FILES", 2)
    table, reader = stored(tmp_path, {}), FileColumnsReader()
    assert read(table, reader) == read(table, reader) == EXPECTED
    assert reader._files <= 2
