"""A table to which this process appends itself is the one that Spark would have written."""

from __future__ import annotations

import datetime as dt
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyiceberg.manifest import DataFile, ManifestFile, PartitionFieldSummary
from pyiceberg.table import Table as IcebergTable

from manual_pipeline import MakePipeline
from penstock import crash_points
from penstock.flow import held_rows
from penstock.flow.table_registry import TableRegistry
from penstock.lake.append import direct_append, direct_tables
from penstock.lake.append.arrow_schema import arrow_schema
from penstock.lake.append.direct_append import NotDirect, append_directly, direct_table
from penstock.lake.read.query_execution import MAX_RESULT
from penstock.lake.spark.names import MADE_BY, qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.storage.local_paths import local_path
from penstock.lake.tables.commit import CommitConflict, append_rows, commit_progress
from penstock.lake.tables.new_tables import create_table
from penstock.lake.tables.physical_tables import load_table
from penstock.lake.tables.snapshots import Progress, read_snapshots
from penstock.model import types as t
from penstock.model.cursor import BatchCursor
from penstock.model.manifest import Field, Table, Transform

FIELDS = (
    Field("small", t.Int(8)),
    Field("id", t.Int(64)),
    Field("big", t.Int(64, signed=False)),
    Field("f32", t.Nullable(t.Float(32))),
    Field("f64", t.Nullable(t.Float(64))),
    Field("dec", t.Decimal(38, 10)),
    Field("few", t.Decimal(5, 2)),
    Field("flag", t.Bool()),
    Field("day", t.Date()),
    Field("at", t.DateTime()),
    Field("fine", t.DateTime64(9)),
    Field("text", t.String()),
    Field("many", t.Array(t.Nullable(t.Int(16)))),
    Field("by", t.Map(t.String(), t.Array(t.Int(8)))),
    Field("pair", t.Tuple((("x", t.Int(32)), ("y", t.Nullable(t.String()))))),
    Field("state", t.AggregateFunction("uniq", (t.String(),))),
    Field("mean", t.AggregateFunction("avg", (t.Nullable(t.Float(64)),))),
)
KEYS: Mapping[str, tuple[tuple[Transform, ...], tuple[Transform, ...]]] = {
    "plain": ((), ()),
    "months": ((Transform("months", "at"),), (Transform("identity", "text"), Transform("identity", "at"))),
    "several": ((Transform("identity", "flag"), Transform("years", "day")), (Transform("identity", "f64"),)),
    "hours": ((Transform("hours", "at"),), (Transform("days", "at"), Transform("identity", "dec"))),
    "days": ((Transform("days", "day"),), (Transform("months", "day"), Transform("identity", "f32"))),
    "named": ((Transform("identity", "text"), Transform("identity", "few")), (Transform("identity", "big"),)),
}
MOVED = {"landing.x": Progress(BatchCursor(8), {"x": 8}, 7), "view.y": Progress(BatchCursor(2))}
ROWS = 60
LARGE_ROWS = {
    "datasources/events.datasource": "SCHEMA >\n    `id` UInt32 `json:$.id`\n\nENGINE MergeTree\n",
    "datasources/large.datasource": "SCHEMA >\n    `text` String\n\nENGINE MergeTree\n",
    "materializations/to_large.pipe": "NODE large\nSQL >\n    SELECT repeat('x', 100000) AS text FROM events\n"
    "TYPE materialized\nDATASOURCE large\n",
}
_numbers = itertools.count()
PROGRESS = {"landing.x": Progress(BatchCursor(7), {"x": 7}, 3), "view.y": Progress(BatchCursor(2))}


def made_rows(table: IcebergTable, seed: int) -> pa.Table:
    """Rows with values of every kind, nulls among them."""
    draw = random.Random(seed)
    schema = arrow_schema(table.schema())
    columns = [pa.array([_value(draw, field.type) for _ in range(ROWS)], field.type) for field in schema]
    return pa.table(columns, schema=schema)


def _value(draw: random.Random, of: pa.DataType) -> object:
    return None if draw.random() < 0.15 else _whole(draw, of)


def _whole(draw: random.Random, of: pa.DataType) -> object:  # noqa: PLR0911 - one case a type
    if pa.types.is_boolean(of):
        return draw.random() < 0.5
    if pa.types.is_int32(of):
        return draw.choice((0, -1, 2**31 - 1, -(2**31), draw.randint(-9, 9)))
    if pa.types.is_int64(of):
        return draw.choice((0, 2**63 - 1, -(2**63), draw.randint(-9, 9)))
    if pa.types.is_floating(of):
        return draw.choice((0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -2.25))
    if pa.types.is_decimal(of):
        most = Decimal(10**of.precision - 1).scaleb(-of.scale, Context(prec=76))
        return draw.choice((Decimal(0), most, Decimal(draw.randint(0, 99)).scaleb(-of.scale)))
    if pa.types.is_date(of):
        return dt.date(1970, 1, 1) + dt.timedelta(days=draw.choice((-400, -1, 0, 31, 366)))
    if pa.types.is_timestamp(of):
        micros = draw.choice((-1, 0, -3_600_000_001, 1_700_000_000_123_456, 31_622_400_000_000))
        return dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc) + dt.timedelta(microseconds=micros)
    if pa.types.is_string(of):
        return draw.choice(("", "a", "é" * 20, "z" * 40, "\U0010ffff" * 20, "a b/c%=é", "NULL"))
    if pa.types.is_binary(of):
        return draw.choice((b"", b"\xff" * 30, b"\x00\x01", b"state"))
    if pa.types.is_list(of):
        return [_value(draw, of.value_type) for _ in range(draw.randint(0, 3))]
    if pa.types.is_map(of):
        return [(f"key {each}", _value(draw, of.item_type)) for each in range(draw.randint(0, 2))]
    assert pa.types.is_struct(of), of
    return {field.name: _value(draw, field.type) for field in of}


@dataclass(frozen=True)
class Pair:
    """The same rows, written by Spark and by this process."""

    spark: str
    direct: str

    def both(self, lake: Lake) -> tuple[IcebergTable, IcebergTable]:
        found = load_table(lake, self.spark), load_table(lake, self.direct)
        assert found[0] is not None
        assert found[1] is not None
        return found[0], found[1]


@pytest.fixture(scope="module", params=KEYS)
def pair(lake: Lake, request: pytest.FixtureRequest) -> Pair:
    partition, sort = KEYS[request.param]
    made = Pair(f"appends__{request.param}_s", f"appends__{request.param}_d")
    for name in (made.spark, made.direct):
        create_table(lake, Table(name, FIELDS, partition, sort, lands=True))
    for seed in range(2):
        table = direct_table(lake, made.direct)
        assert table is not None, "this process can write it"
        rows = made_rows(table, seed)
        frame = lake.spark.createDataFrame(rows).coalesce(1)
        append_rows(frame, made.spark, PROGRESS, _current(lake, made.spark))
        append_directly(lake, made.direct, rows, (PROGRESS, _current(lake, made.direct)))
    return made


def _current(lake: Lake, table: str) -> int | None:
    found = read_snapshots(lake, table).current
    return found.id if found is not None else None


def _rows(found: pa.Table) -> list[str]:
    return sorted(map(repr, found.to_pylist()))


def test_spark_reads_the_same_rows(lake: Lake, pair: Pair) -> None:
    spark, direct = (_rows(lake.spark.table(qualified_table(each)).toArrow()) for each in (pair.spark, pair.direct))
    assert len(direct) == 2 * ROWS
    assert direct == spark


def test_pyiceberg_and_duckdb_read_the_same_rows(lake: Lake, pair: Pair) -> None:
    spark, direct = pair.both(lake)
    assert _rows(direct.scan().to_arrow()) == _rows(spark.scan().to_arrow())
    read = [_rows(_by_duckdb(each)) for each in (spark, direct)]
    assert read[1] == read[0]


def _by_duckdb(table: IcebergTable) -> pa.Table:
    files = [str(local_path(each.file_path)) for each in _entries(table)]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        return connection.execute(f"SELECT * FROM read_parquet({files!r})").to_arrow_table()


def _entries(table: IcebergTable) -> list[DataFile]:
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifests = snapshot.manifests(table.io)
    return [entry.data_file for each in manifests for entry in each.fetch_manifest_entry(table.io)]


def test_entries_of_files_say_the_same(lake: Lake, pair: Pair) -> None:
    spark, direct = (sorted(map(_described, _entries(each)), key=repr) for each in pair.both(lake))
    assert direct == spark
    assert all(each["lower"] for each in direct)


def test_lists_of_manifests_say_the_same(lake: Lake, pair: Pair) -> None:
    spark, direct = (_manifests(each) for each in pair.both(lake))
    assert direct == spark


def _manifests(table: IcebergTable) -> list[tuple[object, ...]]:
    """What a reader passes over whole manifests by, the oldest first."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    order = {each.snapshot_id: at for at, each in enumerate(table.metadata.snapshots)}
    return sorted(
        (
            (order[each.added_snapshot_id], each.content, each.partition_spec_id),
            (each.sequence_number, each.min_sequence_number),
            (each.added_files_count, each.existing_files_count, each.deleted_files_count),
            (each.added_rows_count, each.existing_rows_count, each.deleted_rows_count),
            [(part.contains_null, part.contains_nan, part.lower_bound, part.upper_bound) for part in _parts(each)],
        )
        for each in snapshot.manifests(table.io)
    )


def _parts(manifest: ManifestFile) -> list[PartitionFieldSummary]:
    return manifest.partitions or []


def _described(file: DataFile) -> dict[str, object]:
    """What readers plan by, without sizes."""
    return {
        "partition": list(file.partition._data),
        "rows": file.record_count,
        "order": file.sort_order_id,
        "spec": file.spec_id,
        "values": dict(file.value_counts),
        "nulls": dict(file.null_value_counts),
        "nan": dict(file.nan_value_counts),
        "lower": _bounds(file.lower_bounds),
        "upper": _bounds(file.upper_bounds),
    }


def _bounds(found: Mapping[int, bytes]) -> dict[int, bytes]:
    """Bounds, whose zeros may have either sign: Parquet's own are -0.0 below and 0.0 above."""
    zeros = {b"\x00\x00\x00\x80": bytes(4), b"\x00\x00\x00\x00\x00\x00\x00\x80": bytes(8)}
    return {id: zeros.get(each, each) for id, each in sorted(found.items())}


def test_parquet_columns_are_the_same(lake: Lake, pair: Pair) -> None:
    spark, direct = (_parquet(each) for each in pair.both(lake))
    assert direct == spark


def _parquet(table: IcebergTable) -> list[tuple[object, ...]]:
    path = str(local_path(_entries(table)[0].file_path))
    schema = pq.ParquetFile(path).schema
    columns = (schema.column(each) for each in range(len(schema)))
    ids = [repr(each) for each in _field_ids(pq.read_schema(path))]
    shape = [(each.path, str(each.logical_type), each.max_definition_level) for each in columns]
    return [*shape, tuple(ids)]


def _field_ids(schema: pa.Schema) -> Iterator[tuple[str, bytes | None]]:
    fields = list(schema)
    while fields:
        field = fields.pop()
        yield field.name, (field.metadata or {}).get(b"PARQUET:field_id")
        fields += [field.type.field(at) for at in range(field.type.num_fields)]


def test_files_are_sorted_as_spark_sorts(lake: Lake, pair: Pair) -> None:
    spark, direct = pair.both(lake)
    keys = [direct.schema().find_field(each.source_id).name for each in direct.sort_order().fields]
    if all(str(each.transform) == "identity" for each in direct.sort_order().fields):
        assert _sorted_columns(direct, keys) == _sorted_columns(spark, keys)


def _sorted_columns(table: IcebergTable, keys: list[str]) -> list[str]:
    """The keys of each file's rows, in their order."""
    files = (str(local_path(each.file_path)) for each in _entries(table))
    return sorted(repr(pq.read_table(each, columns=keys).to_pylist()) for each in files)


def test_snapshots_say_the_same(lake: Lake, pair: Pair) -> None:
    spark, direct = (read_snapshots(lake, each) for each in (pair.spark, pair.direct))
    assert direct.progress == spark.progress == PROGRESS
    assert [(each.appends, each.added) for each in direct.line] == [(each.appends, each.added) for each in spark.line]
    assert (direct.rows, direct.files) == (spark.rows, spark.files)
    summaries = [dict(each.current_snapshot().summary.additional_properties) for each in pair.both(lake)]  # type: ignore[union-attr]
    missing = {key for key in summaries[0] if key not in summaries[1]}
    assert not {key for key in missing if not key.startswith(("spark.", "engine-", "iceberg-", "app-", "manifests-"))}
    assert summaries[1][MADE_BY] == "penstock"


@pytest.fixture
def turns(lake: Lake) -> str:
    """A table of its own, with a first snapshot."""
    name = f"appends__turns_{next(_numbers)}"
    create_table(lake, Table(name, FIELDS, *KEYS["months"], lands=True))
    commit_progress(lake, name, PROGRESS, None)
    return name


def _direct(lake: Lake, name: str) -> IcebergTable:
    found = direct_table(lake, name)
    assert found is not None
    return found


def test_spark_and_this_process_take_turns(lake: Lake, turns: str) -> None:
    before = _current(lake, turns)
    rows = made_rows(_direct(lake, turns), 9)
    append_rows(lake.spark.createDataFrame(rows), turns, PROGRESS, before)
    with pytest.raises(CommitConflict):
        append_directly(lake, turns, rows, (PROGRESS, before))
    between = _current(lake, turns)
    append_directly(lake, turns, rows, (PROGRESS, between))
    with pytest.raises(CommitConflict):
        append_rows(lake.spark.createDataFrame(rows), turns, PROGRESS, between)
    commit_progress(lake, turns, PROGRESS, _current(lake, turns))
    appended = f"{qualified_table(turns)} WITH (`start-snapshot-id` = '{before}')"
    (count,) = lake.spark.sql(f"SELECT count(*) FROM {appended}").collect()
    assert count[0] == 2 * ROWS


@pytest.mark.parametrize("times", [1, 3])
def test_progress_goes_behind_what_is_no_flow(
    lake: Lake, turns: str, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deployment commits no row; maintenance may change the table in that moment."""
    left = _overtaken(monkeypatch, times, lambda at: lake.spark.sql(_property(turns, at)))
    registry = TableRegistry(lake)
    made = {**PROGRESS, "another flow": PROGRESS[next(iter(PROGRESS))]}
    registry.replace_progress(turns, made)
    assert (registry.snapshots(turns).progress, left()) == (made, 0)
    found = _direct(lake, turns).properties
    assert found[f"times.{times}"] == "changed", "what came between is there"


def test_progress_does_not_go_behind_a_flow(lake: Lake, turns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    other = {**PROGRESS, "another flow": PROGRESS[next(iter(PROGRESS))]}
    _overtaken(monkeypatch, 1, lambda _: commit_progress(lake, turns, other, _current(lake, turns)))
    registry = TableRegistry(lake)
    with pytest.raises(CommitConflict):
        registry.replace_progress(turns, PROGRESS)
    assert registry.snapshots(turns).progress == other


def _property(table: str, at: int) -> str:
    return f"ALTER TABLE {qualified_table(table)} SET TBLPROPERTIES ('times.{at}' = 'changed')"


def _overtaken(monkeypatch: pytest.MonkeyPatch, times: int, change: Callable[[int], object]) -> Callable[[], int]:
    """Let something change the table in the moment of each of the next commits; how often it still will."""
    inner, done = direct_append._write_commit, itertools.count(1)
    left = times

    def write(table: IcebergTable, *given: object) -> object:
        nonlocal left
        if left:
            left -= 1
            change(next(done))
        return inner(table, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(direct_append, "_write_commit", write)
    return lambda: left


def test_of_two_at_once_one_is_refused(lake: Lake, turns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, before = made_rows(_direct(lake, turns), 1), _current(lake, turns)
    inner = direct_append._write_commit

    def overtaken(table: IcebergTable, *given: object) -> object:
        monkeypatch.setattr(direct_append, "_write_commit", inner)
        append_directly(lake, turns, rows, (PROGRESS, before))
        return inner(table, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(direct_append, "_write_commit", overtaken)
    files = _files(_direct(lake, turns))
    with pytest.raises(CommitConflict):
        append_directly(lake, turns, rows, (PROGRESS, before))
    now = _direct(lake, turns)
    assert lake.spark.table(qualified_table(turns)).count() == ROWS
    written = _files(now) - files
    named = {each.file_path.rpartition("/")[2] for each in _entries(now)}
    assert {each for each in written if each.endswith(".parquet") and not each.startswith(".")} == named


def _files(table: IcebergTable) -> set[str]:
    folder = local_path(table.location())
    assert folder is not None
    return {each.name for each in folder.rglob("*") if each.is_file()}


def test_spark_merges_manifests_before_they_are_many(lake: Lake, turns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = made_rows(_direct(lake, turns), 1).slice(0, 1)
    for _ in range(direct_tables.MOST_MANIFESTS):
        append_directly(lake, turns, rows, (PROGRESS, _current(lake, turns)))
    assert direct_table(lake, turns) is None
    append_rows(lake.spark.createDataFrame(rows), turns, PROGRESS, _current(lake, turns))
    found = _direct(lake, turns)
    snapshot = found.current_snapshot()
    assert snapshot is not None
    assert len(snapshot.manifests(found.io)) == 1
    append_directly(lake, turns, rows, (PROGRESS, _current(lake, turns)))
    assert lake.spark.table(qualified_table(turns)).count() == direct_tables.MOST_MANIFESTS + 2
    folder = local_path(found.location())
    assert folder is not None
    assert len(list((folder / "metadata").glob("*.metadata.json"))) == 6, "older ones are deleted, as Iceberg does"


def test_spark_notices_a_byte_that_changed(lake: Lake, turns: str) -> None:
    append_directly(lake, turns, made_rows(_direct(lake, turns), 3), (PROGRESS, _current(lake, turns)))
    (path, *_) = (local_path(each.file_path) for each in _entries(_direct(lake, turns)))
    assert path is not None
    content = bytearray(path.read_bytes())
    content[len(content) // 3] ^= 1
    path.write_bytes(content)
    with pytest.raises(Py4JJavaError, match="ChecksumException"):
        lake.spark.table(qualified_table(turns)).toArrow()


def test_a_refused_write_leaves_no_file(lake: Lake, turns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _direct(lake, turns)
    before = _files(table)
    rows = made_rows(table, 1).set_column(0, "small", pa.array(["x"] * ROWS))
    with pytest.raises(NotDirect, match="small is string"):
        append_directly(lake, turns, rows, (PROGRESS, _current(lake, turns)))
    monkeypatch.setattr(direct_append, "_with_snapshot", _no_room)
    with pytest.raises(OSError, match="no room"):
        append_directly(lake, turns, made_rows(table, 1), (PROGRESS, _current(lake, turns)))
    assert _files(_direct(lake, turns)) == before


@pytest.mark.parametrize("point", ["append.written", "lake.before", "lake.after"])
def test_after_a_crash_all_of_it_is_there_or_nothing(lake: Lake, turns: str, point: str) -> None:
    before = read_snapshots(lake, turns)
    rows = made_rows(_direct(lake, turns), 5)
    crash_points.arm(point, 1, lambda: None)
    try:
        with pytest.raises(crash_points.Crashed):
            append_directly(lake, turns, rows, (MOVED, _current(lake, turns)))
    finally:
        assert crash_points.disarm()
    now = read_snapshots(lake, turns)
    if point == "lake.after":
        assert (now.rows, now.progress) == (ROWS, MOVED)
    else:
        assert now == before
    append_directly(lake, turns, rows, (MOVED, _current(lake, turns)))
    assert lake.spark.table(qualified_table(turns)).count() == ROWS * (2 if point == "lake.after" else 1)


def test_rows_are_held_for_the_views_that_read_them(lake: Lake, turns: str) -> None:
    registry = TableRegistry(lake)
    start, made = _current(lake, turns), made_rows(_direct(lake, turns), 6)
    assert start is not None
    registry.commit(made.slice(0, 10), turns, MOVED)
    registry.add_progress(turns, PROGRESS)
    registry.commit(made.slice(10), turns, MOVED)
    line = registry.snapshots(turns).line
    held = registry.held_rows(turns, start, line[-1].id)
    assert held is not None
    assert _rows(held) == _rows(made)
    lake.spark.sql(f"ALTER TABLE {qualified_table(turns)} ADD COLUMN later INT")
    assert registry.held_rows(turns, line[-2].id, line[-1].id) is None, "they lack the new column"


def test_what_is_held_takes_a_limited_space(lake: Lake, turns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registry, made = TableRegistry(lake), made_rows(_direct(lake, turns), 7)
    monkeypatch.setattr(held_rows, "MOST_BYTES", made.nbytes * 3 // 2)
    for _ in range(3):
        registry.commit(made, turns, MOVED)
    line = registry.snapshots(turns).line
    assert registry.held_rows(turns, line[-2].id, line[-1].id) is not None
    assert registry.held_rows(turns, line[-3].id, line[-1].id) is None


def test_a_commit_without_rows_takes_a_place_too(lake: Lake, turns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = TableRegistry(lake)
    monkeypatch.setattr(held_rows, "MOST_COMMITS", 2)
    for _ in range(3):
        registry.add_progress(turns, PROGRESS)
    line = registry.snapshots(turns).line
    assert registry.held_rows(turns, line[-3].id, line[-1].id) is not None
    assert registry.held_rows(turns, line[-4].id, line[-1].id) is None


def test_few_rows_that_are_large_are_written_by_spark(make_pipeline: MakePipeline, lake: Lake) -> None:
    pipeline = make_pipeline(LARGE_ROWS)
    pipeline.post("events", [b'{"id":%d}' % each for each in range(20)])
    configuration = lake.spark.sparkContext._jsc.sc().conf()
    before = configuration.get(MAX_RESULT)
    configuration.set(MAX_RESULT, "1m")
    try:
        pipeline.drain()
    finally:
        configuration.set(MAX_RESULT, before)
    binding = pipeline.live.binding("large")
    assert binding is not None
    found = load_table(lake, binding.table)
    assert found is not None
    assert [str(each.summary and each.summary["engine-name"]) for each in found.metadata.snapshots] == ["spark"]
    assert (
        lake.spark.sql(f"SELECT sum(length(text)) FROM {qualified_table(binding.table)}").collect()[0][0] == 2_000_000
    )


def _no_room(*given: object) -> object:
    raise OSError("no room")
