"""What the columns of both sides read as after a JOIN: zero values where a side misses, one column for USING.

In: the kind, the relations before and of the right table, the columns of USING. Out: the relations after. Called by
joins. Invariant: a column whose value would be that of any matching row is barred, never guessed.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.model.types import Type
from penstock.sql.join_kinds import Kind
from penstock.sql.scope import Relation
from penstock.sql.spark_types import spark_type, zero
from penstock.sql.supertypes import same_digits, supertype
from penstock.sql.typed import Typed, as_spark, typed
from penstock.sql.value_types import value_type

_ONE_ROW = "INNER JOIN with a SELECT that gives one row for each key"


def after_join(kind: Kind, before: tuple[Relation, ...], right: Relation, using: list[str]) -> tuple[Relation, ...]:
    """The relations in scope after a join; `using` are the columns that USING names."""
    lefts = tuple(_merged(each, right, using, kind) for each in before)
    last = _of_merged_type(right, before, using)
    if "left" in kind.misses:
        lefts = tuple(_missing(each, kind) for each in lefts)
    if "right" in kind.misses:
        last = _missing(last, kind)
    if kind.matches == "left" and not kind.misses:
        keys = {name: next(each for each in lefts if name in each.columns).columns[name] for name in using}
        last = _barred(last.with_columns({**last.columns, **keys}), frozenset(using))
    if kind.matches == "right" and not kind.misses:
        lefts = tuple(_barred(each, frozenset(using)) for each in lefts)
    if "right" not in kind.misses and ("left" in kind.misses or kind.matches == "right"):
        lefts = tuple(replace(each, named=each.named | frozenset(using)) for each in lefts)
    return (*lefts, replace(last, hidden=last.hidden | frozenset(using)))


def _barred(relation: Relation, using: frozenset[str]) -> Relation:
    """The side of a SEMI JOIN whose rows are only looked for."""
    return replace(relation, barred={name: _ONE_ROW for name in relation.columns if name not in using})


def _merged(relation: Relation, right: Relation, using: list[str], kind: Kind) -> Relation:
    """The USING columns of the left side: of both sides' type, from the side that never misses."""
    columns, own = dict(relation.columns), dict(relation.own)
    for name in using:
        if name in columns:
            merged = _merged_column(columns[name], right.columns[name], kind)
            mine = own.get(name, columns[name])
            if "left" in kind.misses or name in own:
                own[name] = _as_type(mine, merged.type)
            columns[name] = merged
    return replace(relation, columns=columns, own=own)


def _of_merged_type(right: Relation, lefts: tuple[Relation, ...], using: list[str]) -> Relation:
    """The right side's own USING columns: of both sides' type."""
    columns = dict(right.columns)
    for name in using:
        left = next(each for each in lefts if name in each.columns).columns[name]
        columns[name] = _as_type(columns[name], supertype((left.type, columns[name].type)) or left.type)
    return right.with_columns(columns)


def _as_type(value: Typed, of: Type) -> Typed:
    return value if same_digits(value.type, of) else typed(as_spark(value, value_type(of)), of)


def _merged_column(left: Typed, right: Typed, kind: Kind) -> Typed:
    of = supertype((left.type, right.type)) or left.type
    a, b = ((value.sql if value.type == of else as_spark(value, value_type(of))) for value in (left, right))
    if left.type != of and same_digits(left.type, of) and "left" not in kind.misses and kind.matches != "right":
        return left
    first = b if "left" in kind.misses or kind.matches == "right" else a
    sql = f"coalesce({a}, {b})" if kind.spark == "FULL JOIN" else first
    return typed(sql, of) if left.type != right.type else replace(left, sql=sql)


def _missing(relation: Relation, kind: Kind) -> Relation:
    """The side that may have no row; after ANTI it has none."""
    kept = {name: value for name, value in relation.columns.items() if name in relation.own}
    filled = relation.mapped(_nothing if kind.matches else _zero_if_missing)
    return filled.with_columns({**filled.columns, **kept})


def _nothing(value: Typed) -> Typed:
    default = "NULL" if value.nullable else zero(value.type)
    return replace(value, sql=f"CAST({default} AS {value.spark})", constant=None)


def _zero_if_missing(value: Typed) -> Typed:
    if value.nullable or value.spark == "VOID":
        return value
    default = zero(value.type)
    shown = default if value.spark == spark_type(value.type) else f"CAST({default} AS {value.spark})"
    return replace(value, sql=f"coalesce({value.sql}, {shown})")
