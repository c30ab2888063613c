"""What the condition of a JOIN is made of: which of its parts compare the two sides, and with what.

In: the condition and the relations of both sides. Out: `Condition`. Called by joins and join_parts. Invariant: a part
is a key only where each of its operands reads one side and the two read different ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from penstock.sql.scope import Relation
from penstock.sql.translator import Translator
from penstock.sql.tree import call_name

EQUAL = (exp.EQ, exp.NullSafeEQ)
LEFT, RIGHT = "left", "right"


@dataclass(frozen=True, slots=True)
class Pair:
    """Operands of one comparison, the left side's first; `kind` is that of the node, turned to that order."""

    kind: type[exp.Expr]
    left: exp.Expr
    right: exp.Expr


_CALLS: dict[str | None, type[exp.Expr]] = {
    "equals": exp.EQ, "less": exp.LT, "greater": exp.GT, "lessOrEquals": exp.LTE, "greaterOrEquals": exp.GTE,
}  # fmt: skip
_TURNED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ, exp.NullSafeEQ: exp.NullSafeEQ, exp.LT: exp.GT, exp.GT: exp.LT, exp.LTE: exp.GTE, exp.GTE: exp.LTE,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of ON, for a translator that sees both sides; `right` is the right one."""

    tr: Translator
    right: Relation

    def conjuncts(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The parts that AND connects."""
        node = node.unnest()
        if isinstance(node, exp.And):
            yield from self.conjuncts(node.this)
            yield from self.conjuncts(node.expression)
        else:
            yield node

    def sides(self, node: exp.Expr) -> frozenset[str]:
        """The sides whose columns an expression reads."""
        tr = self.tr.tracing()
        tr.translate(node)
        return frozenset(self._side(tr, each) for each in tr.trace.free)

    def _side(self, tr: Translator, node: exp.Expr) -> str:
        table = node.text("db") or node.text("table")
        relation = tr.scope.relation(table) if table else None
        relation = relation or tr.scope.find(table or node.name)
        return RIGHT if relation is not None and relation.name == self.right.name else LEFT

    def pair(self, node: exp.Expr) -> Pair | None:
        """A comparison of one side with the other; None for anything else."""
        node = node.unnest()
        kind = _CALLS.get(call_name(node), type(node))
        if kind not in _TURNED:
            return None
        a, b = node.expressions if isinstance(node, exp.Anonymous) else (node.this, node.expression)
        match (self.sides(a), self.sides(b)):
            case (x, y) if x == {LEFT} and y == {RIGHT}:
                return Pair(kind, a, b)
            case (x, y) if x == {RIGHT} and y == {LEFT}:
                return Pair(_TURNED[kind], b, a)
            case _:
                return None

    def has_keys(self, node: exp.Expr) -> bool:
        """Whether every way to fulfil the condition compares the sides for equality, as ClickHouse needs it."""
        node = node.unnest()
        if isinstance(node, exp.And):
            return self.has_keys(node.this) or self.has_keys(node.expression)
        if isinstance(node, exp.Or):
            return self.has_keys(node.this) and self.has_keys(node.expression)
        pair = self.pair(node)
        return pair is not None and pair.kind in EQUAL

    def reads_only(self, node: exp.Expr, side: str) -> bool:
        """Whether each part reads this side, or no column at all."""
        return all(self.sides(each) <= {side} for each in self.conjuncts(node))
