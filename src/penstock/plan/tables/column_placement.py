"""Where each column of the next version is stored in the live table, or why it cannot be.

In: the transition of a data source to the next version. Out: `ColumnPlacement`: the physical column of each logical
one, and its value for rows that were written before (Spark SQL). Invariants: no physical column that the live version
reads is written differently, and no row is moved; a column for which that is impossible is a `BlockedColumn`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from functools import cached_property

from penstock.model.datasource import Column, DataSource
from penstock.model.manifest import EVERY_ROW, SEQ, Before, BoundColumn, Field
from penstock.model.quick_dataclass import dataclass
from penstock.model.stored_values import StoredValues
from penstock.model.types import is_nullable
from penstock.plan.compiled_project import CompiledProject
from penstock.plan.diff.column_compatibility import can_ingest, can_share_column, is_promotion, strip_nullable
from penstock.plan.diff.column_matching import ColumnMatch, match_columns
from penstock.plan.diff.forward_columns import ForwardQuery, keeps_values
from penstock.plan.tables.ingestion_equality import IngestionEquality
from penstock.plan.tables.physical_names import take_physical_name
from penstock.plan.tables.running_datasource import RunningDataSource, without_pending_cut
from penstock.plan.tables.stored_claims import Place, Proof, obstacle_text, prove_values_fit
from penstock.sql.analysis.expression_facts import expression_facts
from penstock.sql.compile import cast_column
from penstock.sql.query import ForwardColumn
from penstock.sql.spark_text import quote_identifier, replace_columns
from penstock.sql.stored_types import column_default, spark_type

_LONGEST_DEFAULT = 100_000
"""Characters of Spark SQL that compute a DEFAULT for existing rows."""


@dataclass(frozen=True, slots=True)
class BlockedColumn:
    """A column that the live table cannot store."""

    column: Column
    before: Column | None
    reason: str
    lossy: bool
    """The new type cannot hold all values, and nothing says how to convert them; otherwise a forward query computes the
    column."""
    grows: bool = False
    """Its DEFAULT is too long when all that it reads is written out."""
    found: str = ""
    """What Iceberg's statistics say against its new type; empty if nothing."""


@dataclass(frozen=True, slots=True)
class BridgedColumn:
    """A column whose values for existing rows are computed by an expression of the forward query."""

    column: Column
    reason: str


@dataclass(frozen=True, slots=True)
class ColumnPlacement:
    """Where the columns of the next version are stored in the live table."""

    columns: tuple[BoundColumn, ...]
    """The bound columns, in the order of the schema."""
    added: tuple[Field, ...]
    """The physical columns to add."""
    widened: tuple[Field, ...]
    """The physical columns to promote to a wider type."""
    blocked: tuple[BlockedColumn, ...]
    """The columns that the live table cannot store."""
    bridged: tuple[BridgedColumn, ...]
    """The bound columns that a forward query computes."""
    match: ColumnMatch
    proofs: tuple[Proof, ...] = ()
    """Why the stored values of columns with a narrower type are values of it."""


@dataclass(frozen=True, slots=True)
class DerivedColumn:
    """The value of a column in the rows that a target of views has stored, if that is not what they hold under its
    name."""

    sql: str
    """Spark SQL over the logical columns that the target has in the live version."""
    is_constant: bool


def _unknown_values() -> None:
    """What is known of the values where no table is asked."""


@dataclass(frozen=True)
class DataSourceTransition:
    """A data source as it runs and as the next version defines it, with its compiled project and its forward query."""

    running: RunningDataSource
    new: DataSource
    compiled: CompiledProject
    forward: ForwardQuery | None
    derived: Mapping[str, DerivedColumn] = field(default_factory=dict)
    """The values that columns have in existing rows, as the views of both versions tell."""
    stored: Callable[[], StoredValues | None] = _unknown_values
    """Returns what Iceberg's statistics say of the live table. They are read from the metadata of data files, so it is
    called only where a column needs them."""

    @cached_property
    def placement(self) -> ColumnPlacement:
        """The placement of every column of the new version."""
        return _place_columns(self)


@dataclass(frozen=True, slots=True)
class _PlacedColumn:
    """A column that the live table can store."""

    column: Column
    bound: BoundColumn
    own: bool = False
    """It gets a new physical column."""
    computed: str | None = None
    """Why a forward query computes it; None: it does not."""
    filled: str | None = None
    """Spark SQL of its value in the rows that have NULL, which is no value of the column."""
    proof: Proof | None = None
    """Why its type holds every value that is stored, if the live type has others."""


def _place_columns(transition: DataSourceTransition) -> ColumnPlacement:
    old, new = transition.running.source, transition.new
    match = match_columns(old, new, transition.forward)
    origins = {column.name: origin for column, origin in match.pairs if origin}
    ingestion = IngestionEquality(old, new, origins, can_ingest(old) or can_ingest(new))
    taken = {name.casefold() for name in transition.running.taken}
    placed: dict[str, _PlacedColumn] = {}
    blocked: list[BlockedColumn] = []
    # Columns that continue one come first: the defaults of the others may read them.
    for column, origin in sorted(match.pairs, key=lambda pair: pair[1] is None):
        result = (
            _place_continued_column(transition, column, origin, ingestion, placed)
            if origin
            else _place_added_column(transition, column, placed)
        )
        if isinstance(result, BlockedColumn):
            blocked.append(result)
        else:
            placed[column.name] = _choose_physical_name(result, taken)
    return _collect_placement(transition, match, placed, tuple(blocked))


def _collect_placement(
    transition: DataSourceTransition,
    match: ColumnMatch,
    placed: Mapping[str, _PlacedColumn],
    blocked: tuple[BlockedColumn, ...],
) -> ColumnPlacement:
    in_order = [placed[column.name] for column in transition.new.columns if column.name in placed]
    have = {field.name: field for field in transition.running.table.fields}
    added = tuple(Field(each.bound.physical, each.bound.type) for each in in_order if each.own)
    widened = tuple(
        Field(each.bound.physical, each.bound.type)
        for each in in_order
        if not each.own and is_promotion(spark_type(have[each.bound.physical].type), spark_type(each.bound.type))
    )
    bridged = tuple(BridgedColumn(each.column, each.computed) for each in in_order if each.computed is not None)
    proofs = tuple(each.proof for each in in_order if each.proof is not None)
    return ColumnPlacement(tuple(each.bound for each in in_order), added, widened, blocked, bridged, match, proofs)


def _choose_physical_name(placed: _PlacedColumn, taken: set[str]) -> _PlacedColumn:
    """The placed column with its physical name: a new one gets the logical name if no column ever had it, otherwise the
    next free one with a number."""
    if not placed.own:
        return placed
    bound = replace(placed.bound, physical=take_physical_name(placed.column.name, taken))
    if placed.filled is not None:
        stored = quote_identifier(bound.physical)
        value = f"CASE WHEN {stored} IS NULL THEN {placed.filled} ELSE {stored} END"
        bound = replace(bound, before=Before(value, EVERY_ROW))
    return replace(placed, bound=bound)


def _place_continued_column(
    transition: DataSourceTransition,
    column: Column,
    origin: Column,
    ingestion: IngestionEquality,
    placed: Mapping[str, _PlacedColumn],
) -> _PlacedColumn | BlockedColumn:
    """Place a column that continues a live column."""
    derived = transition.derived.get(column.name)
    if derived is not None:
        return _place_derived_column(transition, column, derived)
    same_rule = ingestion.is_filled_alike(column)
    live = transition.running.binding.column(origin.name)
    assert live is not None, "a binding has every column of its data source"
    bound = replace(without_pending_cut(live), name=column.name, type=column.type)
    forward_column = transition.forward.column(column.name) if transition.forward else None
    computed = forward_column is not None and not keeps_values(forward_column, origin, column.type)
    if same_rule and column.type == origin.type and not computed:
        return _PlacedColumn(column, bound)
    if forward_column is not None and computed:
        return _place_bridged_column(
            transition, forward_column, BlockedColumn(column, origin, _describe_retyping(column, origin), lossy=False)
        )
    value = _convert_live_value(transition, column, origin, placed)
    if value is None:
        return _place_proved_column(transition, column, origin)
    if same_rule and can_share_column(origin, column):
        return _PlacedColumn(column, bound)
    return _PlacedColumn(column, replace(bound, before=Before(value)), own=True)


def _convert_live_value(
    transition: DataSourceTransition, column: Column, origin: Column, placed: Mapping[str, _PlacedColumn]
) -> str | None:
    """Spark SQL for the live value in the new type; None where values may be lost."""
    live = transition.running.binding.column(origin.name)
    assert live is not None, "a binding has every column of its data source"
    old = value_in_older_rows(without_pending_cut(live))
    value = cast_column(old, origin.type, column.type)
    if value is not None or not is_nullable(origin.type) or column.default is None:
        return value
    inner = cast_column(old, strip_nullable(origin.type), column.type)
    default = _default_for_earlier_rows(transition, column, placed, frozenset({column.name}))
    return f"coalesce({inner}, {default})" if inner is not None and default is not None else None


def _place_proved_column(
    transition: DataSourceTransition, column: Column, origin: Column
) -> _PlacedColumn | BlockedColumn:
    """Place a column whose type does not hold every value of the live one, but each that is stored."""
    blocked = BlockedColumn(column, origin, _describe_retyping(column, origin), lossy=True)
    is_fed = bool(transition.running.views or transition.compiled.feeders(transition.new.name))
    if is_fed or transition.forward is not None:
        return blocked  # what the views give is asked elsewhere, and a forward query says itself what is stored
    proof = prove_type(transition, origin, column)
    if not isinstance(proof, Proof):
        return replace(blocked, found=proof)
    value, want = quote_identifier(proof.claim.column), spark_type(column.type)
    value = value if spark_type(origin.type) == want else f"CAST({value} AS {want})"
    bound = BoundColumn(column.name, column.type, column.name, Before(value))
    return _PlacedColumn(column, bound, own=True, proof=proof)


def prove_type(transition: DataSourceTransition, origin: Column, column: Column) -> Proof | str:
    """The proof that each value that the live table has stored of a column is one of its new type; or what Iceberg's
    statistics say against it, as a part of a sentence, which is empty where they say nothing."""
    running = transition.running
    live = running.binding.column(origin.name)
    assert live is not None, "a binding has every column of its data source"
    now = without_pending_cut(live)
    is_stored = value_in_older_rows(now) == quote_identifier(now.physical)
    stored = transition.stored() if is_stored else None
    if stored is None:
        return ""
    place = Place(transition.new.name, running.table.id, now.physical)
    return prove_values_fit(place, origin, column, stored) or obstacle_text(place, origin, column, stored)


def _place_added_column(
    transition: DataSourceTransition, column: Column, placed: Mapping[str, _PlacedColumn]
) -> _PlacedColumn | BlockedColumn:
    """Place a column that the live version does not have."""
    bound = BoundColumn(column.name, column.type, column.name)
    forward_column = transition.forward.column(column.name) if transition.forward else None
    if forward_column is not None:
        return _place_by_forward_query(transition, column, forward_column)
    derived = transition.derived.get(column.name)
    if derived is not None:
        return _place_derived_column(transition, column, derived)
    if column.default is None and is_nullable(column.type):
        return _PlacedColumn(column, bound, own=True)
    value = _default_for_earlier_rows(transition, column, placed, frozenset({column.name}))
    if value is None:
        reason = f"the DEFAULT of `{column.name}` grows too long for existing rows"
        return BlockedColumn(column, None, reason, lossy=True, grows=True)
    if not expression_facts(value).is_repeatable:
        reason = f"the DEFAULT of `{column.name}` is another value each time it is asked for"
        return BlockedColumn(column, None, reason, lossy=True)
    return _PlacedColumn(column, replace(bound, before=Before(value)), own=True)


def _place_derived_column(transition: DataSourceTransition, column: Column, derived: DerivedColumn) -> _PlacedColumn:
    """Place a column of which the views tell the value in existing rows. Where NULL is no value of the column, it marks
    these rows; else `_seq` tells them."""
    bound = BoundColumn(column.name, column.type, column.name)
    value = f"CAST({replace_columns(derived.sql, _live_values(transition))} AS {spark_type(column.type)})"
    if expression_facts(value).is_null and is_nullable(column.type):
        return _PlacedColumn(column, bound, own=True)
    if not is_nullable(column.type):
        return _PlacedColumn(column, bound, own=True, filled=value)
    return _PlacedColumn(column, replace(bound, before=Before(value)), own=True)


def _place_by_forward_query(
    transition: DataSourceTransition, column: Column, forward_column: ForwardColumn
) -> _PlacedColumn | BlockedColumn:
    """Place a new column whose value for existing rows is defined by the forward query."""
    bound = BoundColumn(column.name, column.type, column.name)
    if forward_column.facts.is_null and is_nullable(column.type):
        return _PlacedColumn(column, bound, own=True)
    if forward_column.is_constant:
        return _PlacedColumn(column, replace(bound, before=Before(forward_column.sql)), own=True)
    copied = transition.running.source.column(forward_column.renames) if forward_column.renames else None
    live = transition.running.binding.column(forward_column.renames) if forward_column.renames else None
    value = (
        cast_column(value_in_older_rows(without_pending_cut(live)), copied.type, column.type)
        if copied and live
        else None
    )
    if value is None:
        return _place_bridged_column(
            transition,
            forward_column,
            BlockedColumn(
                column, None, f"`{column.name}` computed{_describe_inputs(forward_column.uses)}", lossy=False
            ),
        )
    return _PlacedColumn(column, replace(bound, before=Before(value)), own=True)


def _place_bridged_column(
    transition: DataSourceTransition, forward_column: ForwardColumn, otherwise: BlockedColumn
) -> _PlacedColumn | BlockedColumn:
    """Place a column that is computed when existing rows are read; blocked if its value differs at each evaluation."""
    if not forward_column.facts.is_repeatable:
        return replace(otherwise, reason=f"{otherwise.reason}, which is another value each time it is asked for,")
    before = Before(replace_columns(forward_column.sql, _live_values(transition)))
    bound = BoundColumn(otherwise.column.name, otherwise.column.type, otherwise.column.name, before)
    return _PlacedColumn(otherwise.column, bound, own=True, computed=otherwise.reason)


def _live_values(transition: DataSourceTransition) -> Mapping[str, str]:
    """The values of the live columns in the rows that exist now, as Spark SQL over physical columns."""
    return {
        column.name: value_in_older_rows(without_pending_cut(column)) for column in transition.running.binding.columns
    }


def _describe_retyping(column: Column, origin: Column) -> str:
    if column.type == origin.type:
        return f"`{column.name}` computed anew"
    return f"`{column.name}` {origin.type} → {column.type}"


def _describe_inputs(uses: Iterable[str]) -> str:
    listed = ", ".join(f"`{name}`" for name in uses)
    return f" from {listed}" if listed else ""


def _default_for_earlier_rows(
    transition: DataSourceTransition, column: Column, placed: Mapping[str, _PlacedColumn], above: frozenset[str]
) -> str | None:
    """The DEFAULT of a column for existing rows, as Spark SQL; the type's default value if it has none. None if the SQL
    grows too long: each DEFAULT that it reads is written out, as often as it is read."""
    default = transition.compiled.defaults.get((transition.new.name, column.name))
    if default is None:
        return "NULL" if is_nullable(column.type) else column_default(column.type)
    values = {}
    for name in sorted(expression_facts(default).column_names - above):
        read = transition.new.column(name)
        value = None
        if name in placed:
            value = value_in_older_rows(placed[name].bound)
        elif read is not None:
            value = _default_for_earlier_rows(transition, read, placed, above | {name})
        if value is None or len(value) > _LONGEST_DEFAULT:
            return None
        values[name] = f"({value})" if name not in placed else value
    written = replace_columns(default, values)
    return written if len(written) <= _LONGEST_DEFAULT else None


def default_of_live_rows(transition: DataSourceTransition, match: ColumnMatch, column: Column) -> str | None:
    """The DEFAULT of a new column as Spark SQL over the live columns; None where a column that goes on has no value in
    its new type."""
    placed: dict[str, _PlacedColumn] = {}
    for each, origin in match.pairs:
        given = transition.forward.column(each.name) if transition.forward else None
        value = given.sql if given is not None else None
        if value is None and origin is not None:
            value = cast_column(quote_identifier(origin.name), origin.type, each.type)
        if value is not None:
            placed[each.name] = _PlacedColumn(each, BoundColumn(each.name, each.type, each.name, Before(value)))
        elif origin is not None:
            return None
    return _default_for_earlier_rows(transition, column, placed, frozenset({column.name}))


def value_in_older_rows(column: BoundColumn) -> str:
    """The value of a bound column for the rows that exist now, as Spark SQL over physical columns."""
    physical, before = quote_identifier(column.physical), column.before
    if before is None or before.is_settled:
        return physical
    if before.cut is None:
        return f"({before.expression})"
    rows = f"{SEQ} <= {before.cut}" + (f" AND {SEQ} > {before.settled}" if before.settled >= 0 else "")
    return f"(CASE WHEN {rows} THEN {before.expression} ELSE {physical} END)"
