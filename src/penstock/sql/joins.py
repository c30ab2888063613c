"""One JOIN: its kind, its condition, and what the columns read as after it.

In: a Join node and the right table. Out: Spark text and the relations after it. Called by
passes.sources. Invariant: USING keeps one column, the one of the side that never misses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.sql.comparisons import comparable, connect
from penstock.sql.scope import Relation
from penstock.sql.spark_types import spark_type, zero
from penstock.sql.supertypes import supertype
from penstock.sql.tables import Table
from penstock.sql.translator import Translator
from penstock.sql.typed import Typed, as_spark, condition, typed
from penstock.sql.value_types import value_type

_KINDS = {
    (): "INNER JOIN", ("INNER",): "INNER JOIN", ("CROSS",): "CROSS JOIN", ("LEFT",): "LEFT JOIN",
    ("RIGHT",): "RIGHT JOIN", ("FULL",): "FULL JOIN", ("LEFT", "SEMI"): "LEFT SEMI JOIN", ("SEMI",): "LEFT SEMI JOIN",
    ("LEFT", "ANTI"): "LEFT ANTI JOIN", ("ANTI",): "LEFT ANTI JOIN",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Joined:
    """The text that follows the left side, and every relation in scope after it."""

    sql: str
    relations: tuple[Relation, ...]


def join(tr: Translator, node: exp.Join, right: Table) -> Joined:
    kind = _kind(tr, node)
    before = tr.scope.relations
    if tr.scope.relation(right.relation.name) is not None:
        message = f"two tables are called `{right.relation.name}`"
        raise tr.refused(node.this, "duplicate-table", message, "give one of them an alias")
    both = tr.with_scope(replace(tr.scope, relations=(*before, right.relation))).at("filter").tracing()
    using = [each.name for each in node.args.get("using") or []]
    tests = [_equal(both, node, name, right.relation) for name in using]
    if node.args.get("on") is not None:
        test = both.translate(node.args["on"])
        connect(both, node, "ON", [test])
        tests.append(condition(test))
    if not tests and kind not in ("CROSS JOIN",):
        if kind != "INNER JOIN":
            raise tr.refused(node, "invalid-join", f"{kind} needs ON or USING")
        kind = "CROSS JOIN"
    on = f" ON {' AND '.join(tests)}" if tests else ""
    return Joined(f"{kind} {right.sql}{on}", _after(kind, before, right.relation, using))


def _kind(tr: Translator, node: exp.Join) -> str:
    words = tuple(
        word
        for key in ("method", "side", "kind")
        if (word := str(node.args.get(key) or "").upper()) and word not in ("OUTER", "ALL", "GLOBAL")
    )
    found = _KINDS.get(tuple(dict.fromkeys(words)))
    if found is None:
        shown = " ".join(words)
        raise tr.refused(node, "unsupported-clause", f"{shown} JOIN is not supported")
    return found


def _equal(tr: Translator, node: exp.Join, name: str, right: Relation) -> str:
    left = next((each for each in tr.scope.relations[:-1] if name in each.columns), None)
    if left is None or name not in right.columns:
        known = right.columns if left is not None else [each for one in tr.scope.relations[:-1] for each in one.columns]
        raise tr.refused(node, "unknown-column", f"unknown column `{name}` in USING", did_you_mean(name, known))
    for relation in (left, right):
        if relation.placeholder is not None:
            tr.uses.column(relation.placeholder, name)
    a, b = comparable(tr, node, left.columns[name], right.columns[name])
    return f"({a} = {b})"


def _after(kind: str, before: tuple[Relation, ...], right: Relation, using: list[str]) -> tuple[Relation, ...]:
    if kind in ("LEFT SEMI JOIN", "LEFT ANTI JOIN"):
        return before
    left_misses, right_misses = kind in ("RIGHT JOIN", "FULL JOIN"), kind in ("LEFT JOIN", "FULL JOIN")
    kept = tuple(_merged(each, right, using, kind) for each in before)
    lefts = tuple(_zero_filled(each, using) for each in kept) if left_misses else kept
    last = _zero_filled(right, []) if right_misses else right
    return (*lefts, replace(last, hidden=last.hidden | frozenset(using)))


def _merged(relation: Relation, right: Relation, using: list[str], kind: str) -> Relation:
    """The USING columns of the left side: of both sides' type, from the side that never misses."""
    columns = dict(relation.columns)
    for name in using:
        if name in columns:
            columns[name] = _merged_column(columns[name], right.columns[name], kind)
    return relation.with_columns(columns)


def _merged_column(left: Typed, right: Typed, kind: str) -> Typed:
    of = supertype((left.type, right.type)) or left.type
    a, b = ((value.sql if value.type == of else as_spark(value, value_type(of))) for value in (left, right))
    sql = {"RIGHT JOIN": b, "FULL JOIN": f"coalesce({a}, {b})"}.get(kind, a)
    return typed(sql, of) if left.type != right.type else replace(left, sql=sql)


def _zero_filled(relation: Relation, but: list[str]) -> Relation:
    filled = {name: value if name in but else _zero_if_missing(value) for name, value in relation.columns.items()}
    return relation.with_columns(filled)


def _zero_if_missing(value: Typed) -> Typed:
    if value.nullable or value.spark == "VOID":
        return value
    default = zero(value.type)
    shown = default if value.spark == spark_type(value.type) else f"CAST({default} AS {value.spark})"
    return replace(value, sql=f"coalesce({value.sql}, {shown})")
