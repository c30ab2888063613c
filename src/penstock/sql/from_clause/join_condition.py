"""What every JOIN has: its two sides in scope, the grammar of its condition, the columns of USING.

In: a Block, a Join node and the right table. Out: `Joined`, a translator that sees both sides, pairs of columns.
Called by joins, join_parts, join_any and join_asof. Invariant: a column of USING is one of both sides, of types
that have a common one.

What the condition of a JOIN is made of: which of its parts compare the two sides, and with what.

In: the condition and the relations of both sides. Out: `Condition`. Called by joins and join_parts. Invariant: a part
is a key only where each of its operands reads one side and the two read different ones.

The condition of an ANY or ASOF JOIN taken apart: equalities of both sides, one inequality, filters of one side.

In: ON or USING. Out: `Parts`. Called by join_any and join_asof. Invariant: two values are equal as a key exactly
where the texts of it are the same for Spark, so that rows may be grouped by it; whatever is no part is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.sql.compiler.any_join_filters import AnyJoinRows
from penstock.sql.compiler.block import SelectBlock
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.compiler.translator import Translator
from penstock.sql.conversions.literals import adapt_literals
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.typed import Typed, as_condition
from penstock.sql.from_clause.join_kinds import JoinKind
from penstock.sql.operators.comparisons import COMPARISON_OPERATORS, as_comparable_pair
from penstock.sql.operators.logic import join_conditions
from penstock.sql.syntax.tree import call_name


@dataclass(frozen=True, slots=True)
class JoinResult:
    """The text of FROM with the join, and every relation in scope after it; `taken` where one row is taken of those
    that both sides have for a key."""

    source: str
    relations: tuple[ScopeTable, ...]
    taken: AnyJoinRows | None = None


def translator_of_both_sides(block: SelectBlock, right: ScopeTable) -> Translator:
    """For conditions: a translator that sees what is joined so far and the right table."""
    tr = block.translator
    scope = replace(tr.scope, relations=(*tr.scope.relations, right))
    return tr.with_scope(scope).at("filter").tracing()


def using_columns(node: exp.Join) -> list[str]:
    """The columns that USING names."""
    return [each.name for each in node.args.get("using") or []]


def check_condition_form(tr: Translator, node: exp.Join, kind: JoinKind) -> None:
    """What ClickHouse's grammar wants. Raises Refused."""
    given = bool(node.args.get("on") is not None or node.args.get("using"))
    if kind.spark == "CROSS JOIN" and given:
        raise tr.refused(node, "invalid-join", "CROSS JOIN takes no ON or USING", "JOIN … ON does")
    if kind.spark != "CROSS JOIN" and not given:
        raise tr.refused(node, "invalid-join", f"{kind.words} needs ON or USING", "CROSS JOIN needs none")


def using_column_pair(tr: Translator, node: exp.Join, name: str, right: ScopeTable) -> tuple[Typed, Typed]:
    """The two columns that one name of USING means. Raises Refused."""
    left = next((each for each in tr.scope.relations[:-1] if name in each.columns), None)
    if left is None or name not in right.columns:
        known = right.columns if left is not None else [each for one in tr.scope.relations[:-1] for each in one.columns]
        raise tr.refused(node, "unknown-column", f"unknown column `{name}` in USING", did_you_mean(name, known))
    for relation in (left, right):
        if relation.placeholder is not None:
            tr.uses.column(relation.placeholder, name)
    pair = (left.columns[name], right.columns[name])
    _check_using_type(tr, node, name, pair)
    return pair


def _check_using_type(tr: Translator, node: exp.Expr, name: str, pair: tuple[Typed, Typed]) -> None:
    """One column stands for both: of their common type."""
    kinds = {type(value.bare) for value in pair}
    if supertype([value.type for value in pair]) is None or (t.Bool in kinds and len(kinds) > 1):
        message = f"USING (`{name}`) of {pair[0].type} and {pair[1].type}: there is no common type"
        raise tr.refused(node, "no-common-type", message, "ON … = …")


EQUALITIES = (exp.EQ, exp.NullSafeEQ)
LEFT, RIGHT = "left", "right"


@dataclass(frozen=True, slots=True)
class SideComparison:
    """Operands of one comparison, the left side's first; `kind` is that of the node, turned to that order."""

    kind: type[exp.Expr]
    left: exp.Expr
    right: exp.Expr


_COMPARISON_CALLS: dict[str | None, type[exp.Expr]] = {
    "equals": exp.EQ,
    "less": exp.LT,
    "greater": exp.GT,
    "lessOrEquals": exp.LTE,
    "greaterOrEquals": exp.GTE,
}
_MIRRORED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.EQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
    exp.LT: exp.GT,
    exp.GT: exp.LT,
    exp.LTE: exp.GTE,
    exp.GTE: exp.LTE,
}


@dataclass(frozen=True, slots=True)
class JoinCondition:
    """The condition of ON, for a translator that sees both sides; `right` is the right one."""

    tr: Translator
    right: ScopeTable

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

    def pair(self, node: exp.Expr) -> SideComparison | None:
        """A comparison of one side with the other; None for anything else."""
        node = node.unnest()
        kind = _COMPARISON_CALLS.get(call_name(node), type(node))
        if kind not in _MIRRORED:
            return None
        a, b = node.expressions if isinstance(node, exp.Anonymous) else (node.this, node.expression)
        match (self.sides(a), self.sides(b)):
            case (x, y) if x == {LEFT} and y == {RIGHT}:
                return SideComparison(kind, a, b)
            case (x, y) if x == {RIGHT} and y == {LEFT}:
                return SideComparison(_MIRRORED[kind], b, a)
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
        return pair is not None and pair.kind in EQUALITIES

    def reads_only(self, node: exp.Expr, side: str) -> bool:
        """Whether each part reads this side, or no column at all."""
        return all(self.sides(each) <= {side} for each in self.conjuncts(node))


@dataclass(frozen=True, slots=True)
class EqualityKey:
    """Two texts of one Spark type that are to be equal; `equal` is Spark's operator for it. `nodes` are what they were
    made of, both of ON or the one name of USING."""

    left: str
    right: str
    equal: str
    nodes: tuple[exp.Expr, ...]

    @property
    def test(self) -> str:
        return f"({self.left} {self.equal} {self.right})"


@dataclass(frozen=True, slots=True)
class AsofInequality:
    """The inequality of ASOF: of the right rows for which `left operator right`, the nearest one is taken."""

    left: str
    right: str
    operator: str


@dataclass(frozen=True, slots=True)
class SideFilter:
    """A condition that reads one side, or no column at all (which counts as the left side)."""

    side: str
    sql: str


@dataclass(frozen=True, slots=True)
class ConditionParts:
    """What a condition is made of."""

    keys: tuple[EqualityKey, ...]
    nearest: tuple[AsofInequality, ...]
    filters: tuple[SideFilter, ...]

    def of(self, side: str) -> tuple[str, ...]:
        """The filters of one side."""
        return tuple(each.sql for each in self.filters if each.side == side)


def split_condition(of: JoinCondition, node: exp.Join, kind: JoinKind) -> ConditionParts:
    """Raises Refused."""
    spread = len(of.tr.trace.spread)
    on = node.args.get("on")
    found = (
        [_classify_part(of, each, kind) for each in of.conjuncts(on)]
        if on is not None
        else _parts_of_using(of, node, kind)
    )
    keys = tuple(each for each in found if isinstance(each, EqualityKey))
    if not keys:
        message = f"{kind.words} needs an equality of both sides in ON"
        raise of.tr.refused(on or node, "invalid-join", message, "a.x = b.y AND …")
    if len(of.tr.trace.spread) > spread:
        message = f"arrayJoin in the condition of {kind.words} is not supported"
        raise of.tr.refused(node, "unsupported-clause", message, "ARRAY JOIN before the JOIN")
    nearest = tuple(each for each in found if isinstance(each, AsofInequality))
    return ConditionParts(keys, nearest, tuple(each for each in found if isinstance(each, SideFilter)))


def _parts_of_using(
    of: JoinCondition, node: exp.Join, kind: JoinKind
) -> list[EqualityKey | AsofInequality | SideFilter]:
    """The last column of ASOF is the one to be near to."""
    names = using_columns(node)
    pairs = [using_column_pair(of.tr, node, name, of.right) for name in names]
    near = pairs[-1:] if kind.asof else []
    keys: list[EqualityKey | AsofInequality | SideFilter] = [
        EqualityKey(*_key_texts(of, node, pair), "=", (exp.column(name),))
        for name, pair in zip(names, pairs[: len(pairs) - len(near)], strict=False)
    ]
    return [*keys, *(_read_inequality(of, node, pair, ">=") for pair in near)]


def _classify_part(of: JoinCondition, node: exp.Expr, kind: JoinKind) -> EqualityKey | AsofInequality | SideFilter:
    pair = of.pair(node)
    if pair is None:
        return _read_filter(of, node, kind)
    values = _translate_operands(of, node, pair)
    if pair.kind in EQUALITIES:
        equal = "=" if pair.kind is exp.EQ else "<=>"
        return EqualityKey(*_key_texts(of, node, values), equal, (pair.left, pair.right))
    if not kind.asof:
        raise _refused_part(of, node, kind)
    return _read_inequality(of, node, values, COMPARISON_OPERATORS[pair.kind])


def _translate_operands(of: JoinCondition, node: exp.Expr, pair: SideComparison) -> tuple[Typed, Typed]:
    return adapt_literals(of.tr, node, of.tr.translate(pair.left), of.tr.translate(pair.right))


def _key_texts(of: JoinCondition, node: exp.Expr, pair: tuple[Typed, Typed]) -> tuple[str, str]:
    """The texts of a key."""
    check_common_type(of, node, pair)
    kinds = {type(value.bare) for value in pair}
    if kinds & {t.Array, t.Tuple, t.Map} or (t.Enum in kinds and pair[0].bare != pair[1].bare):
        message = f"a key of {pair[0].type} and {pair[1].type} is not supported for ANY and ASOF"
        raise of.tr.refused(node, "unsupported-clause", message, "an equality of each of its parts, or of texts")
    return as_comparable_pair(of.tr, node, *pair)


_ORDERED = (t.Int, t.Decimal, t.Bool, t.Date, t.DateTime, t.DateTime64)


def _read_inequality(of: JoinCondition, node: exp.Expr, pair: tuple[Typed, Typed], operator: str) -> AsofInequality:
    if any(isinstance(value.bare, t.Float) for value in pair):
        message = "ASOF by floats is not supported: what ClickHouse finds beside NaN is not determinate"
        raise of.tr.refused(node, "unsupported-clause", message, "toDecimal64(…, 6) of both sides")
    wrong = next((value for value in pair if not isinstance(value.bare, _ORDERED)), None)
    if wrong is not None:
        message = f"ASOF needs numbers, dates or times in its inequality, this is {wrong.type}"
        raise of.tr.refused(node, "wrong-argument-type", message)
    check_common_type(of, node, pair)
    left, right = as_comparable_pair(of.tr, node, *pair)
    return AsofInequality(left, right, operator)


def check_common_type(of: JoinCondition, node: exp.Expr, pair: tuple[Typed, Typed]) -> None:
    """Raises Refused where ClickHouse has no type for both sides."""
    if supertype([value.type for value in pair]) is None:
        message = f"{pair[0].type} and {pair[1].type} have no common type"
        raise of.tr.refused(node, "no-common-type", message, "cast one of them")


def _read_filter(of: JoinCondition, node: exp.Expr, kind: JoinKind) -> SideFilter:
    sides = of.sides(node)
    if len(sides) > 1:
        raise _refused_part(of, node, kind)
    side = RIGHT if RIGHT in sides else LEFT
    if kind.asof and side == LEFT and node.find(exp.Query):
        message = f"a SELECT in a condition on the left side of {kind.words} is not supported"
        raise of.tr.refused(node, "unsupported-clause", message, "filter it in a SELECT of its own")
    value = of.tr.translate(node)
    join_conditions(of.tr, node, "ON", [value])
    return SideFilter(side, as_condition(value))


def _refused_part(of: JoinCondition, node: exp.Expr, kind: JoinKind) -> Exception:
    """ClickHouse, too, looks at one side at a time (or takes the first row of the key and may lose it)."""
    message = f"{kind.words} takes equalities{' and one inequality' if kind.asof else ''} of both sides, not this"
    hint = "conditions of one side may stand beside them, others in WHERE"
    return of.tr.refused(node, "unsupported-clause", message, hint)
