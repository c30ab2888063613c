"""Spark SQL for the rows of a table as its engine merges them.

In: a `Merge`, the columns, and a relation: `(SELECT …)` of these columns under their logical names and of `_seq`.
Out: a SELECT in parentheses. Invariant: pure; equal input gives equal text.

`final_relation` gives the columns as FINAL shows them. `compacted_relation` gives them with `_seq`, to be written
in place of the rows: whatever is inserted later, FINAL gives the same as over the original rows, and so does a
query that merges or sums the columns that the rule merges. This needs that:

- for each key the relation has *all* rows of the table up to some `_seq`, and none with a smaller one will come (no
  history is being copied into the table, no flow is behind). A history that slices the table by `_seq` reads an
  older snapshot, which a tag keeps;
- `can_compact(rule)` holds: where a key can lie in several partitions, rows that collapse are left as they are;
- every deployment that binds the table reads it by the same rule over the same materialized columns, and no row is
  rejected by only one of them; otherwise name the column `_rejects` in `apart`;
- rows whose TTL has expired are either all in the relation or all left out.

What is written: of Replacing, the row that stays, unchanged, even if it is marked as deleted (a later row of an
older version must stay hidden). Of Summing and Aggregating, one row with the greatest `_seq`, even if its sums are
zero. Of Collapsing and VersionedCollapsing, the rows that are not cancelled, unchanged; of a balanced key that ends
with a row of sign 1, this row and one that it cancels. Rows that ClickHouse would refuse (a sign other than 1 and
-1, a deletion mark other than 0 and 1) are left out by FINAL; `compacted_relation` keeps the latest of those of
Replacing and leaves out the others. Source: ClickHouse's documentation of the MergeTree family.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from typing_extensions import assert_never

from penstock.model.manifest import SEQ
from penstock.model.merge_rule import Aggregating, Collapsing, Merge, Replacing, Summing, VersionedCollapsing
from penstock.model.types import Type, is_nullable
from penstock.sql.engines.merge_rules import merged_column
from penstock.sql.spark_text import quote_identifier

Columns = Sequence[tuple[str, Type]]
_WHOLE = "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
_PLACE, _BALANCE, _LAST, _LEVEL, _LEAST = "`_place`", "`_balance`", "`_last`", "`_level`", "`_least`"


@dataclass(frozen=True, slots=True)
class MergeInput:
    """Rows to be merged: those with equal `group` expressions belong together, in the order of `order`."""

    sql: str
    columns: Columns
    group: tuple[str, ...]
    order: tuple[str, ...]

    @property
    def partition_by(self) -> str:
        return f"PARTITION BY {', '.join(self.group) or '1'}"

    def over(self, frame: str = _WHOLE) -> str:
        """A window over the rows of one group in their order."""
        return f" OVER ({self.partition_by} ORDER BY {', '.join(self.order)} {frame})"

    def first(self, *by: str) -> str:
        """A row's number in its group when sorted by these expressions (with directions)."""
        return f"row_number() OVER ({self.partition_by} ORDER BY {', '.join(by)})"

    @property
    def latest_first(self) -> tuple[str, ...]:
        return tuple(f"{each} DESC" for each in self.order)


def final_relation(rule: Merge, columns: Columns, rows: str) -> str:
    """The relation `rows` as FINAL shows it."""
    part = (f"concat_ws('-', {', '.join(rule.partition)})",) if rule.partition else ()
    given = MergeInput(rows, columns, rule.keys, (*part, SEQ))
    match rule:
        case Replacing():
            stays = f" AND {quote_identifier(rule.deleted)} = 0" if rule.deleted else ""
            taken = f" WHERE {_valid_deletion_mark(rule.deleted)}" if rule.deleted else ""
            ranked = f"({_ranked_by_version(rule, given)}{taken})"
            return f"(SELECT {_column_list(columns)} FROM {ranked} WHERE {_PLACE} = 1{stays})"
        case Summing() | Aggregating():
            return _merged_by_key(rule, given, _nonzero_condition(rule, columns))
        case Collapsing():
            added = f"({_BALANCE} > 0 OR ({_BALANCE} = 0 AND {_LAST} = 1))"
            shown = f"{_PLACE} = 1 AND {quote_identifier(rule.sign)} = 1 AND {added}"
            return f"(SELECT {_column_list(columns)} FROM ({_ranked_by_sign(rule, given)}) WHERE {shown})"
        case VersionedCollapsing():
            return _uncancelled_rows(rule, given)
        case _:
            assert_never(rule)


def compacted_relation(rule: Merge, columns: Columns, rows: str, apart: Sequence[str] = ()) -> str:
    """The rows that may replace the relation `rows`, with `_seq`; rows that differ in the columns `apart` are not
    merged."""
    given = MergeInput(rows, columns, (*rule.keys, *rule.partition, *map(quote_identifier, apart)), (SEQ,))
    written = f"{_column_list(columns)}, {SEQ}"
    match rule:
        case Replacing():
            # Rows that ClickHouse would refuse are merged among themselves: FINAL leaves them out.
            kinds = (_valid_deletion_mark(rule.deleted),) if rule.deleted else ()
            given = replace(given, group=(*given.group, *kinds))
            return f"(SELECT {written} FROM ({_ranked_by_version(rule, given)}) WHERE {_PLACE} = 1)"
        case Summing() | Aggregating():
            return _merged_by_key(rule, given, "", f", max({SEQ}) OVER ({given.partition_by}) AS {SEQ}")
        case Collapsing():
            return f"(SELECT {written} FROM ({_ranked_by_sign(rule, given)}) WHERE {_uncollapsed_condition(rule)})"
        case VersionedCollapsing():
            return _uncancelled_rows(rule, given, f", {SEQ}")
        case _:
            assert_never(rule)


def can_compact(rule: Merge) -> bool:
    """Whether `compacted_relation` is right for the rule: rows that cancel across partitions need all partitions."""
    return not (rule.partition and isinstance(rule, (Collapsing, VersionedCollapsing)))


def _ranked_by_version(rule: Replacing, rows: MergeInput) -> str:
    by = (*([f"{quote_identifier(rule.version)} DESC"] if rule.version else []), *rows.latest_first)
    return f"SELECT *, {rows.first(*by)} AS {_PLACE} FROM {rows.sql}"


def _valid_deletion_mark(deleted: str) -> str:
    return f"{quote_identifier(deleted)} IN (0, 1)"


def _merged_by_key(rule: Summing | Aggregating, rows: MergeInput, where: str, more: str = "") -> str:
    over = rows.over()
    values = ", ".join(
        f"{merged_column(of, quote_identifier(name), over)} AS {quote_identifier(name)}"
        if name in rule.columns
        else quote_identifier(name)
        for name, of in rows.columns
    )
    made = f"SELECT {values}{more}, {rows.first(*rows.order)} AS {_PLACE} FROM {rows.sql}"
    names = _column_list(rows.columns) + (f", {SEQ}" if more else "")
    return f"(SELECT {names} FROM ({made}) WHERE {_PLACE} = 1{where})"


def _nonzero_condition(rule: Summing | Aggregating, columns: Columns) -> str:
    if isinstance(rule, Aggregating) or not rule.drops_zeros:
        return ""
    zeros = (
        f"{quote_identifier(name)} IS NULL" if is_nullable(of) else f"{quote_identifier(name)} = 0"
        for name, of in columns
        if name in rule.columns
    )
    return f" AND NOT ({' AND '.join(zeros)})"


def _ranked_by_sign(rule: Collapsing, rows: MergeInput) -> str:
    """The rows with their place among the rows of the same sign (1: from the last, -1: from the first), the balance of
    signs and the last sign of their key."""
    sign = quote_identifier(rule.sign)
    by_sign = replace(rows, group=(*rows.group, sign))
    forwards = f"row_number(){by_sign.over('ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW')}"
    place = f"if({sign} = 1, {by_sign.first(*by_sign.latest_first)}, {forwards})"
    balance = f"sum({sign}) OVER ({rows.partition_by})"
    last = f"last_value({sign}){rows.over()}"
    taken = f"FROM {rows.sql} WHERE {sign} IN (1, -1)"
    return f"SELECT *, {place} AS {_PLACE}, {balance} AS {_BALANCE}, {last} AS {_LAST} {taken}"


def _uncollapsed_condition(rule: Collapsing) -> str:
    sign = quote_identifier(rule.sign)
    more = f"({_BALANCE} <> 0 AND {sign} = sign({_BALANCE}) AND {_PLACE} <= abs({_BALANCE}))"
    return f"({more} OR ({_BALANCE} = 0 AND {_LAST} = 1 AND {_PLACE} = 1))"


def _uncancelled_rows(rule: VersionedCollapsing, rows: MergeInput, more: str = "") -> str:
    """The rows that stay: after such a row the running sum of signs, in the direction of the total, never falls below
    the level to which the row raised it."""
    sign = quote_identifier(rule.sign)
    rows = replace(rows, group=(*rows.group, quote_identifier(rule.version)))
    level = f"sum({sign}){rows.over('ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW')}"
    whole = f"sign(sum({sign}) OVER ({rows.partition_by}))"
    summed = f"SELECT *, {level} * {whole} AS {_LEVEL}, {whole} AS {_BALANCE} FROM {rows.sql} WHERE {sign} IN (1, -1)"
    least = f"min({_LEVEL}){rows.over('ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING')}"
    leveled = f"SELECT *, {least} AS {_LEAST} FROM ({summed})"
    stays = f"{sign} = {_BALANCE} AND {_LEVEL} >= 1 AND {_LEVEL} <= {_LEAST}"
    return f"(SELECT {_column_list(rows.columns)}{more} FROM ({leveled}) WHERE {stays})"


def _column_list(columns: Columns) -> str:
    return ", ".join(quote_identifier(name) for name, _ in columns)
