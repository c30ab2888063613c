"""One JOIN: its kind, its condition, and what the columns read as after it.

In: a Block, a Join node and the right table. Out: Spark text of FROM and the relations after it. Called by
passes.sources. Invariant: USING keeps one column, the one of the side that never misses.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.compiler.block import SelectBlock
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.compiler.translator import Translator
from penstock.sql.expr.typed import Typed, as_condition, boolean, is_null
from penstock.sql.from_clause.any_asof_joins import any_join, asof_join
from penstock.sql.from_clause.join_condition import (
    EQUALITIES,
    RIGHT,
    JoinCondition,
    JoinResult,
    SideComparison,
    check_common_type,
    check_condition_form,
    translator_of_both_sides,
    using_column_pair,
    using_columns,
)
from penstock.sql.from_clause.join_kinds import JoinKind, read_join_kind, relations_after_join
from penstock.sql.from_clause.tables import TableReference
from penstock.sql.operators.comparisons import as_comparable_pair
from penstock.sql.operators.logic import join_conditions


def join_table(block: SelectBlock, node: exp.Join, right: TableReference) -> JoinResult:
    """Raises Refused."""
    tr = block.translator
    kind = read_join_kind(tr, node)
    before = tr.scope.relations
    if any(each.name == right.relation.name for each in before):
        message = f"two tables are called `{right.relation.name}`"
        raise tr.refused(node.this, "duplicate-table", message, "give one of them an alias")
    both = translator_of_both_sides(block, right.relation)
    check_condition_form(both, node, kind)
    if kind.asof:
        return asof_join(block, node, kind, right)
    on, using = node.args.get("on"), using_columns(node)
    same = _EqualColumns(JoinCondition(both, right.relation), on, using)
    if kind.picks and not (kind.picks == {RIGHT} and _has_unique_keys(right, same)):
        return any_join(block, node, kind, right)
    tests = [_using_test(both, node, name, right.relation) for name in using]
    if on is not None:
        tests.append(_on_test(same.of, on, kind))
    spark = _swapped_join_sql(block, kind, right, tests) if kind.swapped else _join_sql(block, kind, right, tests)
    return JoinResult(spark, relations_after_join(kind, before, right.relation, using))


def _has_unique_keys(right: TableReference, same: _EqualColumns) -> bool:
    """Whether no two rows of the right table have the same keys: then ANY is an ordinary join."""
    return right.unique is not None and right.unique <= same.columns().keys()


@dataclass(frozen=True, slots=True)
class _EqualColumns:
    """Which columns of the right table equal something of the left."""

    of: JoinCondition
    on: exp.Expr | None
    using: list[str]

    def columns(self) -> dict[str, exp.Expr]:
        """The right table's columns that are keys, with the left side's expression."""
        found: dict[str, exp.Expr] = {name: exp.column(name, quoted=True) for name in self.using}
        for part in self.of.conjuncts(self.on) if self.on is not None else ():
            pair = self.of.pair(part)
            if pair is not None and pair.kind is exp.EQ and isinstance(pair.right, exp.Column):
                found.setdefault(pair.right.name, pair.left)
        return found


def _on_test(of: JoinCondition, on: exp.Expr, kind: JoinKind) -> str:
    """ON as a Spark condition. Raises Refused for what ClickHouse takes for no condition of a join."""
    tr = of.tr
    value = _on_value(of, on)
    if isinstance(on.unnest(), (exp.Column, exp.Identifier)):
        raise tr.refused(on, "invalid-join", "ON needs a comparison, this is a column", "compare it, as in a.x = b.y")
    join_conditions(tr, on, "ON", [value])
    if kind.keyed and of.sides(on) and not of.has_keys(on):
        filtered = kind.filters is not None and of.reads_only(on, kind.filters)
        if not filtered:
            message = f"{kind.words} needs an equality of both sides in ON"
            raise tr.refused(on, "invalid-join", message, "a.x = b.y AND …, or filter with WHERE")
    return "CAST(NULL AS BOOLEAN)" if is_null(value) else as_condition(value)


def _on_value(of: JoinCondition, on: exp.Expr) -> Typed:
    """The condition as it is written, but where floats are keys: NaN finds NaN as a key, and is not equal to it."""
    keys = {
        id(part): pair for part in of.conjuncts(on) if (pair := of.pair(part)) is not None and pair.kind in EQUALITIES
    }
    values = {part: (of.tr.translate(pair.left), of.tr.translate(pair.right)) for part, pair in keys.items()}
    floats = {part for part, pair in values.items() if any(isinstance(value.bare, t.Float) for value in pair)}
    if not floats:
        return of.tr.translate(on)
    tests = [
        _float_key_test(of, part, keys[id(part)], values[id(part)]) if id(part) in floats else of.tr.translate(part)
        for part in of.conjuncts(on)
    ]
    return join_conditions(of.tr, on, "AND", tests)


def _float_key_test(of: JoinCondition, node: exp.Expr, pair: SideComparison, values: tuple[Typed, Typed]) -> Typed:
    left, right = values
    check_common_type(of, node, values)
    a, b = as_comparable_pair(of.tr, node, left, right)
    return boolean(f"({a} {'=' if pair.kind is exp.EQ else '<=>'} {b})", left, right)


def _join_sql(block: SelectBlock, kind: JoinKind, right: TableReference, tests: list[str]) -> str:
    on = f" ON {' AND '.join(tests)}" if tests else ""
    return f"{block.source} {kind.spark} {right.sql}{on}"


def _swapped_join_sql(block: SelectBlock, kind: JoinKind, right: TableReference, tests: list[str]) -> str:
    """Spark has SEMI and ANTI for the left side only."""
    left = f"({block.source})" if len(block.translator.scope.relations) > 1 else block.source
    return f"{right.sql} {kind.spark} {left} ON {' AND '.join(tests)}"


def _using_test(tr: Translator, node: exp.Join, name: str, right: ScopeTable) -> str:
    a, b = as_comparable_pair(tr, node, *using_column_pair(tr, node, name, right))
    return f"({a} = {b})"
