"""One JOIN: its kind, its condition as Spark SQL, and what the columns read as after it.

In: a `SelectBlock` with what FROM has joined so far, the Join node and the right table. Out: a `JoinResult`. Invariant:
USING leaves one column for both sides, that of the side that always has a row.
"""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.expr.typed import TypedSql, as_condition, boolean, is_null
from penstock.sql.from_clause.any_asof_joins import any_join, asof_join
from penstock.sql.from_clause.join_condition import (
    EQUALITIES,
    RIGHT,
    JoinCondition,
    JoinResult,
    check_common_type,
    check_condition_form,
    using_column_pair,
    using_columns,
)
from penstock.sql.from_clause.join_kinds import JoinKind, read_join_kind, relations_after_join
from penstock.sql.from_clause.tables import TableReference
from penstock.sql.operators.comparisons import as_comparable_pair
from penstock.sql.operators.json_paths import refuse_dynamic
from penstock.sql.operators.logic import join_conditions


def join_table(block: SelectBlock, node: exp.Join, right: TableReference) -> JoinResult:
    """FROM with the join. Raises Refused."""
    tr = block.translator
    kind = replace(read_join_kind(tr, node), nulls=block.environment.join_nulls)
    before = tr.scope.relations
    if any(each.name == right.relation.name for each in before):
        message = f"two tables are called `{right.relation.name}`"
        raise tr.refusal(node.this, "duplicate-table", message, "give one of them an alias")
    condition = JoinCondition.over(block, right.relation)
    check_condition_form(condition.tr, node, kind)
    if kind.asof:
        return asof_join(block, (node, kind), right, condition)
    if kind.picks and not (kind.picks == {RIGHT} and _has_unique_keys(right, condition, node)):
        return any_join(block, (node, kind), right, condition)
    using = using_columns(node)
    tests = [_using_test(condition, node, name) for name in using]
    if node.args.get("on") is not None:
        tests.append(_on_test(condition, node.args["on"], kind))
    spark = _swapped_join_sql(block, kind, right, tests) if kind.swapped else _join_sql(block, kind, right, tests)
    return JoinResult(spark, relations_after_join(kind, before, right.relation, using))


def _has_unique_keys(right: TableReference, condition: JoinCondition, node: exp.Join) -> bool:
    """Whether no two rows of the right table have the same keys: then ANY is an ordinary join."""
    return right.unique is not None and right.unique <= _right_keys(condition, node)


def _right_keys(condition: JoinCondition, node: exp.Join) -> frozenset[str]:
    """The columns of the right table that the condition compares for equality with the left side."""
    keys = set(using_columns(node))
    on = node.args.get("on")
    for part in condition.conjuncts(on) if on is not None else ():
        comparison = condition.comparison(part)
        if comparison is not None and comparison.kind is exp.EQ and isinstance(comparison.right, exp.Column):
            keys.add(comparison.right.name)
    return frozenset(keys)


def _on_test(condition: JoinCondition, on: exp.Expr, kind: JoinKind) -> str:
    """ON as a Spark condition. Raises Refused for what ClickHouse does not accept as a condition of this join."""
    tr = condition.tr
    value = _on_value(condition, on)
    if isinstance(on.unnest(), (exp.Column, exp.Identifier)):
        raise tr.refusal(on, "invalid-join", "ON needs a comparison, this is a column", "compare it, as in a.x = b.y")
    join_conditions(tr, on, "ON", [value])
    if kind.keyed and condition.sides(on) and not condition.has_keys(on):
        filtered = kind.filters is not None and condition.reads_only(on, kind.filters)
        if not filtered:
            message = f"{kind.words} needs an equality of both sides in ON"
            raise tr.refusal(on, "invalid-join", message, "a.x = b.y AND …, or filter with WHERE")
    return "CAST(NULL AS BOOLEAN)" if is_null(value) else as_condition(value)


def _on_value(condition: JoinCondition, on: exp.Expr) -> TypedSql:
    """The condition as it is written, except that NaN equals NaN in a key, and NULL equals NULL in a key that is a
    tuple, as in ClickHouse's hash table."""
    parts = list(condition.conjuncts(on))
    keys = [_key_test(condition, part) for part in parts]
    if not any(keys):
        return condition.value(on)
    tests = [key or condition.value(part) for part, key in zip(parts, keys, strict=True)]
    return join_conditions(condition.tr, on, "AND", tests)


def _key_test(condition: JoinCondition, node: exp.Expr) -> TypedSql | None:
    """An equality of both sides if one of them is a float or a tuple, as Spark compares keys; None for any other
    part."""
    comparison = condition.comparison(node)
    if comparison is None or comparison.kind not in EQUALITIES:
        return None
    left, right = condition.value(comparison.left), condition.value(comparison.right)
    refuse_dynamic(condition.tr, node, (left, right), "a key of JOIN")
    if not any(isinstance(value.bare, (t.Float, t.Tuple)) and not is_null(value) for value in (left, right)):
        return None
    check_common_type(condition.tr, node, (left, right))
    a, b = as_comparable_pair(condition.tr, node, left, right)
    return boolean(f"({a} {'=' if comparison.kind is exp.EQ else '<=>'} {b})", left, right)


def _join_sql(block: SelectBlock, kind: JoinKind, right: TableReference, tests: list[str]) -> str:
    on = f" ON {' AND '.join(tests)}" if tests else ""
    return f"{block.source} {kind.spark} {right.sql}{on}"


def _swapped_join_sql(block: SelectBlock, kind: JoinKind, right: TableReference, tests: list[str]) -> str:
    """SEMI and ANTI of the right side: Spark has them for the left side only, so the sides are swapped."""
    left = f"({block.source})" if len(block.translator.scope.relations) > 1 else block.source
    return f"{right.sql} {kind.spark} {left} ON {' AND '.join(tests)}"


def _using_test(condition: JoinCondition, node: exp.Join, name: str) -> str:
    a, b = as_comparable_pair(condition.tr, node, *using_column_pair(condition, node, name))
    return f"({a} = {b})"
