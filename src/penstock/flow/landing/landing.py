"""Land raw batches: typed rows into the table, rows that do not fit into its quarantine.

In: the landings that share one table (one a version) and the batches after its cursor, checked for damage. Out: one
commit of rows; then, if rows were rejected or a segment is damaged, one commit to the quarantine. Invariant: a
step's quarantine commit is made before the next step, so after a crash only the last step's rejected rows can be
missing, and `repair_quarantine` adds them.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructField, StructType, TimestampType

from penstock.crash_points import crash_point
from penstock.flow.landing.direct_landing import (
    QUARANTINE_ARROW,
    RowCount,
    are_small,
    lacks_values,
    row_schema,
    typed_rows,
)
from penstock.flow.landing.quarantine_commits import commit_to_quarantine, landing_flow
from penstock.flow.landing.row_counter import row_counter
from penstock.flow.landing.row_parser import ABSENT
from penstock.flow.landing.spark_workers import (
    RECEIVED,
    AcceptedRows,
    MakeRows,
    RejectedRows,
    SegmentSplit,
    Tasks,
    record_batches,
)
from penstock.flow.table_registry import TableRegistry
from penstock.lake.append.direct_append import NotDirect
from penstock.lake.maintenance.removed_rows import note_loss
from penstock.lake.spark.names import qualified_table
from penstock.lake.spark.session import Lake
from penstock.lake.tables.snapshots import Progress
from penstock.model.cursor import BatchCursor as BatchCursor
from penstock.model.manifest import REJECTS, ROWS_PER_BATCH, SEQ, Landing, version_mark
from penstock.model.types import is_nullable
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.spark_text import quote_identifier, string_literal
from penstock.state.batches import Batch

if TYPE_CHECKING:
    from pyspark import Accumulator

log = logging.getLogger("penstock.flow")
ROWS_PER_TASK = 50_000
QUARANTINE_SCHEMA = StructType(
    [
        StructField(SEQ, LongType()),
        StructField("version", StringType()),
        StructField("inserted_at", TimestampType()),
        StructField("raw", StringType()),
        StructField("problems", ArrayType(StringType())),
    ]
)


@dataclass(frozen=True, slots=True)
class LandingTable:
    """The landings of all running deployments into one table, that of the most urgent deployment first."""

    landings: tuple[Landing, ...]

    @property
    def table(self) -> str:
        return self.landings[0].table

    @property
    def stream(self) -> str:
        return self.landings[0].stream

    @property
    def flow(self) -> str:
        return self.landings[0].id

    @property
    def quarantine(self) -> str:
        return f"{self.stream}__quarantine"

    @property
    def quarantine_flow(self) -> str:
        return landing_flow(self.table)


@dataclass(frozen=True, slots=True)
class RawBatches:
    """Consecutive batches of a stream, checked for damage."""

    batches: Sequence[Batch]
    inbox: Path
    condemned: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    """By `_seq`, the versions that must reject a row, with the reasons."""

    @property
    def upto(self) -> int:
        return self.batches[-1].number

    @property
    def replaces(self) -> bool:
        """Whether their rows take the place of all earlier ones. Then they are one whole replacement."""
        return self.batches[0].replaces is not None

    @property
    def removes(self) -> bool:
        """Whether it is a batch that removes rows."""
        return bool(self.batches[0].removes)

    @property
    def is_damaged(self) -> bool:
        return any(batch.damage is not None for batch in self.batches)


@dataclass(frozen=True, slots=True)
class LandingResult:
    """What a landing step did."""

    rows: int
    """Rows stored in the table."""
    rejected: int
    """Rows added to the quarantine: one for each version that rejects a row."""
    batch: int
    """The last batch that was landed."""


def land_batches(lake: Lake, registry: TableRegistry, target: LandingTable, raw: RawBatches) -> LandingResult:
    """Commit the rows of the batches that follow the table's cursor, and the quarantine of those that do not fit. The
    caller must hold the table's lock. Raises what Spark raises; then all rows were committed, or none."""
    tasks = split_into_tasks(raw)
    added, rejected = _land_rows(lake, registry, target, (raw, tasks))
    crash_point("landing.committed")
    quarantined = 0
    if rejected or raw.is_damaged:
        quarantined = _append_quarantine(lake, registry, target, tasks, raw)
    return LandingResult(added, quarantined, raw.upto)


def _land_rows(
    lake: Lake, registry: TableRegistry, target: LandingTable, what: tuple[RawBatches, Tasks]
) -> tuple[int, int]:
    """Commit the accepted rows. Returns how many, and for how many pairs of row and version there was no place."""
    raw, tasks = what
    made = {target.flow: Progress(BatchCursor(raw.upto), {target.stream: raw.upto}, raw.batches[0].number - 1)}
    if not raw.replaces and are_small(raw.batches) and registry.takes_arrow(target.table):
        counted = RowCount()
        try:
            return registry.commit(_direct_rows(lake, target, tasks, counted), target.table, made), counted.value
        except NotDirect as reason:
            log.warning("Spark lands rows into %s: %s", target.table, reason)
    with row_counter(lake) as rejected:
        rows = landing_rows(lake, target, tasks, rejected)
        if raw.replaces:
            return _replace_rows(lake, registry, rows, (target.table, made)), rejected.value
        return registry.commit(rows, target.table, made), rejected.value


def _direct_rows(lake: Lake, target: LandingTable, tasks: Tasks, rejected: RowCount) -> pa.Table:
    """The same as `landing_rows`, made in this process. Raises NotDirect, and what a DEFAULT raises."""
    flags, defaults = _absence_flags(target), _column_defaults(target)
    schema = row_schema(lake, target.table, _filled_columns(target), flags.values())
    rows = typed_rows(tasks, schema, AcceptedRows(target.landings, rejected))
    if lacks_values(rows, flags, defaults):
        return _with_defaults(lake.spark.createDataFrame(rows), target).toArrow()
    return rows.drop_columns([RECEIVED, *flags.values()])


def _replace_rows(
    lake: Lake, registry: TableRegistry, rows: DataFrame, made: tuple[str, Mapping[str, Progress]]
) -> int:
    """Put the rows in the place of those of the table. What is computed from the table anew lacks the earlier ones, so
    a plan has to ask before it does that."""
    table, progress = made
    if registry.snapshots(table).rows:
        note_loss(lake, table)
    return registry.replace(rows, table, progress)


def landing_rows(lake: Lake, target: LandingTable, tasks: Tasks, rejected: Accumulator[int]) -> DataFrame:
    """The rows of the tasks that at least one version accepts, as the table stores them."""
    return _with_defaults(_accepted_rows(lake, target, tasks, rejected), target)


def repair_quarantine(lake: Lake, registry: TableRegistry, target: LandingTable, raw: RawBatches) -> None:
    """Quarantine the rejected rows of the table's last step if the server died before it could."""
    if not raw.batches:
        return
    damaged = [batch for batch in raw.batches if batch.damage is not None]
    tasks = split_into_tasks(raw, _landed_damaged_batches(lake, target, damaged) if damaged else frozenset())
    with row_counter(lake) as rejected:
        _accepted_rows(lake, target, tasks, rejected).foreach(_discard_row)
    if rejected.value or damaged:
        _append_quarantine(lake, registry, target, tasks, raw)


def _landed_damaged_batches(lake: Lake, target: LandingTable, damaged: Sequence[Batch]) -> frozenset[int]:
    """The batches whose segment was damaged after the table had stored rows of it. Which of its lines those were
    cannot be determined any more, so none of them is quarantined."""
    inside = f"{SEQ} >= {damaged[0].number * ROWS_PER_BATCH} AND {SEQ} < {(damaged[-1].number + 1) * ROWS_PER_BATCH}"
    rows = lake.spark.table(qualified_table(target.table)).where(inside)
    numbers = rows.selectExpr(f"{SEQ} DIV {ROWS_PER_BATCH} AS number").distinct()
    return frozenset(row.number for row in numbers.collect())


def step_without_quarantine_commit(registry: TableRegistry, target: LandingTable) -> tuple[int, int] | None:
    """The batches (after, upto] of the table's last landing step that no quarantine commit covers;
    None if every step is covered."""
    last = registry.progress(target.table, target.flow)
    numbers = [
        at.cursor.number
        for snapshot in registry.snapshots(target.table).line
        if (at := (snapshot.progress or {}).get(target.flow)) is not None and isinstance(at.cursor, BatchCursor)
    ]
    if not numbers:
        return None
    upto = numbers[-1]
    recorded = last.before if last is not None else None
    earlier = recorded if recorded is not None else max((number for number in numbers if number < upto), default=0)
    kept = registry.cursor(target.quarantine, target.quarantine_flow)
    after = max(earlier, kept.number if isinstance(kept, BatchCursor) else 0)
    return (after, upto) if after < upto else None


def _accepted_rows(lake: Lake, target: LandingTable, tasks: Tasks, rejected: Accumulator[int]) -> DataFrame:
    """The accepted rows before defaults: SEQ, REJECTS, RECEIVED, physical columns and absence flags."""
    return _run_on_workers(lake, tasks, _row_schema(lake, target), AcceptedRows(target.landings, rejected))


def _run_on_workers(lake: Lake, tasks: Tasks, schema: StructType, make: MakeRows) -> DataFrame:
    """Run `make` on the segments of each task in Spark's Python workers."""
    arrow = to_arrow_schema(schema)

    def convert(parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            for index in part.column(0).to_pylist():
                yield from record_batches(make(tasks[index]), arrow)

    return lake.spark.range(0, len(tasks), 1, max(1, len(tasks))).mapInArrow(convert, schema)


def _row_schema(lake: Lake, target: LandingTable) -> StructType:
    """The schema of the rows, with column types as the table stores them now: another version may have widened them."""
    stored = lake.spark.table(qualified_table(target.table)).schema
    hidden = [StructField(SEQ, LongType()), StructField(REJECTS, StringType()), StructField(RECEIVED, TimestampType())]
    fields = [StructField(each.name, each.dataType) for each in stored.fields if each.name in _filled_columns(target)]
    flags = [StructField(flag, BooleanType()) for flag in _absence_flags(target).values()]
    return StructType([*hidden, *fields, *flags])


def _filled_columns(target: LandingTable) -> set[str]:
    return {column.physical for landing in target.landings for column in landing.columns}


def _absence_flags(target: LandingTable) -> dict[str, str]:
    """Flag column by physical column, for columns whose DEFAULT must not replace an explicit null."""
    return {
        column.physical: ABSENT + column.physical
        for landing in target.landings
        for column in landing.columns
        if column.path is not None and column.default is not None and is_nullable(column.type)
    }


def _with_defaults(rows: DataFrame, target: LandingTable) -> DataFrame:
    """The rows as the table stores them. A default may read other columns, which are filled first. It is not evaluated
    for a row that every version with the column rejects: it may fail on the very value for which they do."""
    flags = _absence_flags(target)
    for physical, default in _order_defaults(_column_defaults(target)):
        now = quote_identifier(physical)
        missing = f"coalesce({quote_identifier(flags[physical])}, false)" if physical in flags else f"{now} IS NULL"
        missing += _accepted_condition(target, physical)
        rows = rows.withColumn(physical, expr(f"CASE WHEN {missing} THEN {default} ELSE {now} END"))
    return rows.drop(RECEIVED, *flags.values())


def _accepted_condition(target: LandingTable, physical: str) -> str:
    """` AND …`: true for rows that a version which fills the column accepts; nothing if there is a single version."""
    filling = [each.version for each in target.landings if any(column.physical == physical for column in each.columns)]
    if len(target.landings) == 1:
        return ""
    rejected = " AND ".join(f"contains({REJECTS}, {string_literal(version_mark(version))})" for version in filling)
    return f" AND ({REJECTS} IS NULL OR NOT ({rejected}))"


def _column_defaults(target: LandingTable) -> dict[str, str]:
    return {
        column.physical: column.default
        for landing in reversed(target.landings)
        for column in landing.columns
        if column.default is not None
    }


def _order_defaults(defaults: Mapping[str, str]) -> list[tuple[str, str]]:
    """Defaults ordered so that each one comes after those of the columns that it reads."""
    done: dict[str, str] = {}

    def visit(physical: str, above: frozenset[str]) -> None:
        if physical in done or physical in above:
            return
        read = expression_facts(defaults[physical]).column_names
        for other in defaults:
            if other in read:
                visit(other, above | {physical})
        done[physical] = defaults[physical]

    for physical in defaults:
        visit(physical, frozenset())
    return list(done.items())


def _append_quarantine(lake: Lake, registry: TableRegistry, target: LandingTable, tasks: Tasks, raw: RawBatches) -> int:
    """Append the rejected rows of a step to the stream's quarantine, exactly once. Returns how many."""
    with registry.lock(target.quarantine):
        kept = registry.cursor(target.quarantine, target.quarantine_flow)
        first = ((kept.number if isinstance(kept, BatchCursor) else 0) + 1) * ROWS_PER_BATCH
        place = (target.quarantine, (target.quarantine_flow, BatchCursor(raw.upto)))
        if are_small(raw.batches) and registry.takes_arrow(target.quarantine):
            try:
                rejected = typed_rows(tasks, QUARANTINE_ARROW, RejectedRows(target.landings))
                return commit_to_quarantine(lake, registry, rejected.filter(pc.field(SEQ) >= first), *place)
            except NotDirect as reason:
                log.warning("Spark writes %s: %s", target.quarantine, reason)
        rows = _rejected_rows(lake, target, tasks).where(f"{SEQ} >= {first}")
        return commit_to_quarantine(lake, registry, rows, *place)


def _rejected_rows(lake: Lake, target: LandingTable, tasks: Tasks) -> DataFrame:
    return _run_on_workers(lake, tasks, QUARANTINE_SCHEMA, RejectedRows(target.landings))


def _discard_row(row: object) -> None:
    """Ignore the row; only an accumulator counts."""


def split_into_tasks(raw: RawBatches, taken: Collection[int] = ()) -> Tasks:
    """Split the segments of a step into Spark tasks; each batch is in one task. The table has rows of the batches in
    `taken` already, although their segments are damaged now."""
    condemned: dict[int, dict[int, Mapping[str, str]]] = {}
    for seq, reasons in raw.condemned.items():
        condemned.setdefault(seq // ROWS_PER_BATCH, {})[seq] = reasons
    splits = [
        replace(
            _damaged_split(batch, raw.inbox) if batch.number in taken else segment_split(batch, raw.inbox),
            condemned=condemned.get(batch.number, {}),
        )
        for batch in raw.batches
    ]
    count = max(1, min(sum(each.rows for each in raw.batches) // ROWS_PER_TASK, len(splits)))
    return tuple(tuple(splits[start::count]) for start in range(count))


def segment_split(batch: Batch, inbox: Path) -> SegmentSplit:
    """The segment of a batch, read whole."""
    received = _to_micros(batch.received_at)
    return SegmentSplit(str(inbox / batch.segment), batch.bytes, batch.digest, batch.number, received, batch.damage)


def _damaged_split(batch: Batch, inbox: Path) -> SegmentSplit:
    split = segment_split(batch, inbox)
    if batch.damage is None:
        return split
    return replace(split, kept=0, damage=f"{batch.damage}; the rows that fit had been stored before it was damaged")


def _to_micros(moment: datetime) -> int:
    aware = moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)
    return round(aware.timestamp() * 1_000_000)
