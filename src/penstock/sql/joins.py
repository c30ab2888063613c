"""One JOIN: its kind, its condition, and what the columns read as after it.

In: a Block, a Join node and the right table. Out: Spark text of FROM and the relations after it. Called by
passes.sources. Invariant: USING keeps one column, the one of the side that never misses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.sql.block import Block
from penstock.sql.comparisons import comparable
from penstock.sql.join_keys import Condition
from penstock.sql.join_kinds import Kind, kind_of
from penstock.sql.join_sides import after_join
from penstock.sql.logic import connect
from penstock.sql.scope import Relation
from penstock.sql.supertypes import supertype
from penstock.sql.tables import Table
from penstock.sql.translator import Translator
from penstock.sql.typed import Typed, condition, is_null


@dataclass(frozen=True, slots=True)
class Joined:
    """The text of FROM with the join, and every relation in scope after it."""

    source: str
    relations: tuple[Relation, ...]


def join(block: Block, node: exp.Join, right: Table) -> Joined:
    """Raises Refused."""
    tr = block.translator
    kind = kind_of(tr, node)
    before = tr.scope.relations
    if any(each.name == right.relation.name for each in before):
        message = f"two tables are called `{right.relation.name}`"
        raise tr.refused(node.this, "duplicate-table", message, "give one of them an alias")
    both = tr.with_scope(replace(tr.scope, relations=(*before, right.relation))).at("filter").tracing()
    _check_form(both, node, kind)
    on, using = node.args.get("on"), [each.name for each in node.args.get("using") or []]
    tests = [_equal(both, node, name, right.relation) for name in using]
    same = _Same(Condition(both, right.relation), on, using)
    if on is not None:
        tests.append(_test(same.of, on, kind))
    if kind.any:
        _check_unique(both, node, kind, right, same)
    spark = _swapped(block, kind, right, tests) if kind.swapped else _following(block, kind, right, tests)
    return Joined(spark, after_join(kind, before, right.relation, using))


@dataclass(frozen=True, slots=True)
class _Same:
    """Which columns of the right table equal something of the left."""

    of: Condition
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


def _check_form(tr: Translator, node: exp.Join, kind: Kind) -> None:
    """What ClickHouse's grammar wants."""
    given = bool(node.args.get("on") is not None or node.args.get("using"))
    if kind.spark == "CROSS JOIN" and given:
        raise tr.refused(node, "invalid-join", "CROSS JOIN takes no ON or USING", "JOIN … ON does")
    if kind.spark != "CROSS JOIN" and not given:
        raise tr.refused(node, "invalid-join", f"{kind.words} needs ON or USING", "CROSS JOIN needs none")


def _test(of: Condition, on: exp.Expr, kind: Kind) -> str:
    """ON as a Spark condition. Raises Refused for what ClickHouse takes for no condition of a join."""
    tr = of.tr
    value = tr.translate(on)
    if isinstance(on.unnest(), (exp.Column, exp.Identifier)):
        raise tr.refused(on, "invalid-join", "ON needs a comparison, this is a column", "compare it, as in a.x = b.y")
    connect(tr, on, "ON", [value])
    if kind.keyed and of.sides(on) and not of.has_keys(on):
        filtered = kind.filters is not None and of.reads_only(on, kind.filters)
        if not filtered:
            message = f"{kind.words} needs an equality of both sides in ON"
            raise tr.refused(on, "invalid-join", message, "a.x = b.y AND …, or filter with WHERE")
    return "CAST(NULL AS BOOLEAN)" if is_null(value) else condition(value)


def _check_unique(tr: Translator, node: exp.Join, kind: Kind, right: Table, same: _Same) -> None:
    """ANY takes the row that ClickHouse meets first: only where there is no other it is known which."""
    if right.unique is not None and right.unique <= same.columns().keys():
        return
    message = f"{kind.words} takes any of the right table's rows with the same key"
    hint = "join a SELECT that gives one row for each key: (SELECT key, any(…) … GROUP BY key) AS name"
    raise tr.refused(node, "unsupported-clause", message, hint)


def _following(block: Block, kind: Kind, right: Table, tests: list[str]) -> str:
    on = f" ON {' AND '.join(tests)}" if tests else ""
    return f"{block.source} {kind.spark} {right.sql}{on}"


def _swapped(block: Block, kind: Kind, right: Table, tests: list[str]) -> str:
    """Spark has SEMI and ANTI for the left side only."""
    left = f"({block.source})" if len(block.translator.scope.relations) > 1 else block.source
    return f"{right.sql} {kind.spark} {left} ON {' AND '.join(tests)}"


def _check_common(tr: Translator, node: exp.Expr, name: str, pair: tuple[Typed, Typed]) -> None:
    """One column stands for both: of their common type."""
    kinds = {type(value.bare) for value in pair}
    if supertype([value.type for value in pair]) is None or (t.Bool in kinds and len(kinds) > 1):
        message = f"USING (`{name}`) of {pair[0].type} and {pair[1].type}: there is no common type"
        raise tr.refused(node, "no-common-type", message, "ON … = …")


def _equal(tr: Translator, node: exp.Join, name: str, right: Relation) -> str:
    left = next((each for each in tr.scope.relations[:-1] if name in each.columns), None)
    if left is None or name not in right.columns:
        known = right.columns if left is not None else [each for one in tr.scope.relations[:-1] for each in one.columns]
        raise tr.refused(node, "unknown-column", f"unknown column `{name}` in USING", did_you_mean(name, known))
    for relation in (left, right):
        if relation.placeholder is not None:
            tr.uses.column(relation.placeholder, name)
    _check_common(tr, node, name, (left.columns[name], right.columns[name]))
    a, b = comparable(tr, node, left.columns[name], right.columns[name])
    return f"({a} = {b})"
