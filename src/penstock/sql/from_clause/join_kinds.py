"""The kinds of JOIN, and what the columns of both sides read as after each of them.

`read_join_kind` gives the `JoinKind` of a Join node; `relations_after_join` gives the relations in scope after it: a
side without a row reads as defaults, and USING leaves one column. Invariants: a kind that is not listed is refused; a
column whose value would be that of any matching row (SEMI JOIN) is refused, never guessed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Type
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.common_type import is_same_clickhouse_type, supertype
from penstock.sql.expr.dates import as_common_type
from penstock.sql.expr.typed import TypedSql, replace_sql, typed_sql
from penstock.sql.stored_types import column_default, spark_type

_LEFT, _RIGHT = frozenset({"left"}), frozenset({"right"})
_FULL_NAMES = {
    (): ("INNER",),
    ("SEMI",): ("LEFT", "SEMI"),
    ("ANTI",): ("ANTI", "LEFT"),
    ("ANY",): ("ANY", "INNER"),
    ("ASOF",): ("ASOF", "INNER"),
}
_IGNORED_WORDS = ("", "OUTER", "ALL", "GLOBAL")
_HINTS = {
    "ANY": "ANY LEFT JOIN, ANY RIGHT JOIN or ANY INNER JOIN",
    "ASOF": "ASOF JOIN or ASOF LEFT JOIN",
    "NATURAL": "JOIN … USING (…)",
    "PASTE": "JOIN … USING (…) of a row number",
}
_NEVER_NULLABLE = (t.Array, t.Map, t.AggregateFunction, t.Dynamic)
_NULLABLE_THERE = (t.Tuple, t.Json)
_NO_NULLS = (
    "would be Nullable by join_use_nulls, which tuples and documents cannot be here",
    "join a SELECT that gives its elements as columns",
)
_ONE_ROW = (
    "has no single value: several rows may match",
    "INNER JOIN with a SELECT that gives one row for each key",
)


@dataclass(frozen=True, slots=True)
class JoinKind:
    """A kind of JOIN."""

    words: str
    """Its name in messages."""
    spark: str
    """The join that Spark runs."""
    keyed: bool = False
    """ClickHouse demands an equality of both sides in ON, or conditions on the side `filters` alone."""
    filters: str | None = None
    misses: frozenset[str] = frozenset()
    """Sides that may have no row: their columns then read as defaults, or as NULL."""
    nulls: bool = False
    """As NULL (`join_use_nulls`)."""
    swapped: bool = False
    """Spark's join has the right side first."""
    picks: frozenset[str] = frozenset()
    """Sides that contribute only one row for each key (ANY)."""
    asof: bool = False
    """The nearest row of the right side is joined (ASOF)."""
    matches: str | None = None
    """The side whose rows with a match (SEMI), or without one (ANTI), are kept; the other side is only searched."""


_KINDS: Mapping[tuple[str, ...], JoinKind] = {
    ("INNER",): JoinKind("JOIN", "INNER JOIN"),
    ("CROSS",): JoinKind("CROSS JOIN", "CROSS JOIN"),
    ("LEFT",): JoinKind("LEFT JOIN", "LEFT JOIN", True, "right", _RIGHT),
    ("RIGHT",): JoinKind("RIGHT JOIN", "RIGHT JOIN", True, "left", _LEFT),
    ("FULL",): JoinKind("FULL JOIN", "FULL JOIN", True, None, _LEFT | _RIGHT),
    ("ANY", "LEFT"): JoinKind("ANY LEFT JOIN", "LEFT JOIN", True, "right", _RIGHT, picks=_RIGHT),
    ("ANY", "INNER"): JoinKind("ANY INNER JOIN", "INNER JOIN", picks=_LEFT | _RIGHT),
    ("ANY", "RIGHT"): JoinKind("ANY RIGHT JOIN", "RIGHT JOIN", True, "left", _LEFT, picks=_LEFT),
    ("ASOF", "INNER"): JoinKind("ASOF JOIN", "INNER JOIN", asof=True),
    ("ASOF", "LEFT"): JoinKind("ASOF LEFT JOIN", "LEFT JOIN", True, "right", _RIGHT, asof=True),
    ("LEFT", "SEMI"): JoinKind("SEMI LEFT JOIN", "LEFT SEMI JOIN", True, "right", matches="left"),
    ("ANTI", "LEFT"): JoinKind("ANTI LEFT JOIN", "LEFT ANTI JOIN", True, "right", _RIGHT, matches="left"),
    ("RIGHT", "SEMI"): JoinKind("SEMI RIGHT JOIN", "LEFT SEMI JOIN", True, "left", swapped=True, matches="right"),
    ("ANTI", "RIGHT"): JoinKind(
        "ANTI RIGHT JOIN", "LEFT ANTI JOIN", True, "left", _LEFT, swapped=True, matches="right"
    ),
}


def read_join_kind(tr: Translator, node: exp.Join) -> JoinKind:
    """The kind of a Join node. Raises Refused for an unsupported one."""
    given = (str(node.args.get(key) or "").upper() for key in ("method", "side", "kind"))
    words = tuple(sorted({each for each in given if each not in _IGNORED_WORDS}))
    found = _KINDS.get(_FULL_NAMES.get(words, words))
    if found is None:
        shown = " ".join(words)
        hint = next((text for word, text in _HINTS.items() if word in words), None)
        raise tr.refusal(node, "unsupported-clause", f"{shown} JOIN is not supported", hint)
    return found


def relations_after_join(
    kind: JoinKind, before: tuple[ScopeTable, ...], right: ScopeTable, using: list[str]
) -> tuple[ScopeTable, ...]:
    """The relations in scope after a join; `using` are the columns that USING names, columns of the left side or
    aliases of its expressions."""
    using = [name for name in using if any(name in each.columns for each in before)]
    lefts = tuple(_merge_using_columns(each, right, using, kind) for each in before)
    last = _cast_using_columns(right, before, using)
    if "left" in kind.misses:
        lefts = tuple(_with_missing_rows(each, kind) for each in lefts)
    if "right" in kind.misses:
        last = _with_missing_rows(last, kind)
    if kind.matches == "left" and not kind.misses:
        keys = {name: next(each for each in lefts if name in each.columns).columns[name] for name in using}
        last = _bar_columns(last.with_columns({**last.columns, **keys}), frozenset(using))
    if kind.matches == "right" and not kind.misses:
        lefts = tuple(_bar_columns(each, frozenset(using)) for each in lefts)
    if "right" not in kind.misses and ("left" in kind.misses or kind.matches == "right"):
        lefts = tuple(replace(each, named=each.named | frozenset(using)) for each in lefts)
    return (*lefts, replace(last, hidden=last.hidden | frozenset(using)))


def _bar_columns(relation: ScopeTable, using: frozenset[str]) -> ScopeTable:
    """The side of a SEMI JOIN that is only searched: reading its columns, except those of USING, is refused."""
    return replace(relation, unreadable={name: _ONE_ROW for name in relation.columns if name not in using})


def _merge_using_columns(relation: ScopeTable, right: ScopeTable, using: list[str], kind: JoinKind) -> ScopeTable:
    """The left side with its USING columns in the common type of both sides, from the side that always has a row."""
    columns, own = dict(relation.columns), dict(relation.own)
    for name in using:
        if name in columns:
            merged = _merge_column(columns[name], right.columns[name], kind)
            mine = own.get(name, columns[name])
            if "left" in kind.misses or name in own:
                own[name] = _cast_value(mine, merged.type)
            columns[name] = merged
    return replace(relation, columns=columns, own=own)


def _cast_using_columns(right: ScopeTable, lefts: tuple[ScopeTable, ...], using: list[str]) -> ScopeTable:
    """The right side with its own USING columns in the common type of both sides."""
    columns = dict(right.columns)
    for name in using:
        left = next(each for each in lefts if name in each.columns).columns[name]
        columns[name] = _cast_value(columns[name], supertype((left.type, columns[name].type)) or left.type)
    return right.with_columns(columns)


def _cast_value(value: TypedSql, of: Type) -> TypedSql:
    return value if is_same_clickhouse_type(value.type, of) else typed_sql(as_common_type(value, of), of)


def _merge_column(left: TypedSql, right: TypedSql, kind: JoinKind) -> TypedSql:
    of = supertype((left.type, right.type)) or left.type
    a, b = ((value.sql if value.type == of else as_common_type(value, of)) for value in (left, right))
    if (
        left.type != of
        and is_same_clickhouse_type(left.type, of)
        and "left" not in kind.misses
        and kind.matches != "right"
    ):
        return left
    first = b if "left" in kind.misses or kind.matches == "right" else a
    sql = f"coalesce({a}, {b})" if kind.spark == "FULL JOIN" else first
    return typed_sql(sql, of) if left.type != right.type else replace(left, sql=sql)


def _with_missing_rows(relation: ScopeTable, kind: JoinKind) -> ScopeTable:
    """A side that may have no row (after ANTI it never has one), with defaults or NULL in place of missing values."""
    kept = {name: value for name, value in relation.columns.items() if name in relation.own}
    if kind.nulls:
        lost = {name: _NO_NULLS for name, value in relation.columns.items() if isinstance(value.bare, _NULLABLE_THERE)}
        relation = replace(relation.map_columns(_as_nullable), unreadable={**relation.unreadable, **lost})
        kept = {name: _as_nullable(value) if kind.spark == "FULL JOIN" else value for name, value in kept.items()}
    filled = relation.map_columns(_default_value if kind.matches else _zero_if_missing)
    return filled.with_columns({**filled.columns, **kept})


def _as_nullable(value: TypedSql) -> TypedSql:
    """The column in the Nullable type; arrays, maps and states have none, and keep their default."""
    if value.nullable or isinstance(value.bare, _NEVER_NULLABLE):
        return value
    of = value.type
    inner = of.of if isinstance(of, t.LowCardinality) else of
    return replace(value, type=t.Nullable(inner) if inner is of else t.LowCardinality(t.Nullable(inner)))


def _default_value(value: TypedSql) -> TypedSql:
    """The default of a column whose side has no row."""
    default = "NULL" if value.nullable else column_default(value.type)
    return replace_sql(value, f"CAST({default} AS {value.spark})")


def _zero_if_missing(value: TypedSql) -> TypedSql:
    """The column, or the default of its type if it is NULL because its side has no row."""
    if value.nullable or value.spark == "VOID":
        return value
    default = column_default(value.type)
    shown = default if value.spark == spark_type(value.type) else f"CAST({default} AS {value.spark})"
    return replace(value, sql=f"coalesce({value.sql}, {shown})")
