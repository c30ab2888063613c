"""The condition of a JOIN, ON or USING: which of its parts compare the two sides, and which read one side only.

`JoinCondition` translates operands for a scope with both sides; `split_condition` splits the condition of an ANY or
ASOF JOIN into `ConditionParts`: equalities of both sides, one inequality, filters of one side. Invariants: each operand
is translated once; a part is a key only if one operand reads the left side and the other one the right side; two rows
have equal keys exactly if Spark's values of them are equal, so that rows can be grouped by them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from functools import partial
from typing import TypeAlias, Union

from sqlglot import exp

from penstock.errors import did_you_mean
from penstock.model import types as t
from penstock.model.quick_dataclass import dataclass
from penstock.sql.compiler.any_join_filters import AnyJoinRows
from penstock.sql.compiler.scope import ScopeTable
from penstock.sql.compiler.select_block import SelectBlock
from penstock.sql.compiler.translator import NodeHandler, Translator
from penstock.sql.conversions.literals import adapt_literals
from penstock.sql.expr.common_type import supertype
from penstock.sql.expr.typed import TypedSql, as_condition
from penstock.sql.from_clause.join_kinds import JoinKind
from penstock.sql.operators.comparisons import COMPARISON_OPERATORS, as_comparable_pair
from penstock.sql.operators.json_paths import refuse_dynamic
from penstock.sql.operators.logic import join_conditions
from penstock.sql.syntax.tree import call_name

LEFT, RIGHT = "left", "right"
EQUALITIES = (exp.EQ, exp.NullSafeEQ)
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
"""The comparison that is the same with its operands swapped."""
_ORDERED = (t.Int, t.Decimal, t.Bool, t.Date, t.DateTime, t.DateTime64)
"""Types that the inequality of an ASOF JOIN may compare."""


@dataclass(frozen=True, slots=True)
class JoinResult:
    """FROM with the join as Spark SQL, and every relation in scope after it."""

    source: str
    relations: tuple[ScopeTable, ...]
    any_join: AnyJoinRows | None = None
    """Restricts later filters if the join keeps one row for each key of both sides (ANY INNER JOIN)."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A translated expression of the condition, and the columns in it."""

    value: TypedSql
    columns: tuple[exp.Expr, ...]


@dataclass(frozen=True, slots=True)
class SideComparison:
    """A comparison of both sides."""

    kind: type[exp.Expr]
    """The kind of comparison with the operands in this order, mirrored if they were written the other way round."""
    left: exp.Expr
    """Reads the left side only."""
    right: exp.Expr
    """Reads the right side only."""


@dataclass(frozen=True, slots=True)
class JoinCondition:
    """Translates the condition of a JOIN."""

    tr: Translator
    """A translator whose scope has both sides."""
    right: ScopeTable
    """The relation that is joined."""
    _operands: dict[int, Operand] = field(default_factory=dict)

    @classmethod
    def over(cls, block: SelectBlock, right: ScopeTable) -> JoinCondition:
        """A condition over what FROM has joined so far and the right side."""
        operands: dict[int, Operand] = {}
        tr = block.translator
        scope = replace(tr.scope, relations=(*tr.scope.relations, right), joining=True)
        handlers = {kind: partial(_reuse_operand, operands, handler) for kind, handler in tr.handlers.items()}
        return cls(replace(tr.with_scope(scope).at("filter").with_new_trace(), handlers=handlers), right, operands)

    def operand(self, node: exp.Expr) -> Operand:
        """An expression of the condition, translated when it is first asked for. Raises Refused."""
        if id(node) not in self._operands:
            tr = self.tr.with_new_trace()
            value = tr.translate(node)
            self._operands[id(node)] = Operand(value, tuple(tr.trace.free))
        return self._operands[id(node)]

    def value(self, node: exp.Expr) -> TypedSql:
        """The expression as a Spark value. Raises Refused."""
        return self.operand(node).value

    def conjuncts(self, node: exp.Expr) -> Iterator[exp.Expr]:
        """The parts of a condition that AND connects."""
        node = node.unnest()
        if isinstance(node, exp.And):
            yield from self.conjuncts(node.this)
            yield from self.conjuncts(node.expression)
        else:
            yield node

    def sides(self, node: exp.Expr) -> frozenset[str]:
        """The sides (LEFT, RIGHT) whose columns an expression reads."""
        return frozenset(self.side_of(column) for column in self.operand(node).columns)

    def side_of(self, column: exp.Expr) -> str:
        """The side that a column belongs to."""
        scope, table = self.tr.scope, column.text("db") or column.text("table")
        relation = (scope.relation(table) if table else None) or scope.find(table or column.name)
        return RIGHT if relation is not None and relation.name == self.right.name else LEFT

    def comparison(self, node: exp.Expr) -> SideComparison | None:
        """The node as a comparison of one side with the other; None if it is anything else."""
        node = node.unnest()
        kind = _COMPARISON_CALLS.get(call_name(node), type(node))
        if kind not in _MIRRORED:
            return None
        first, second = node.expressions if isinstance(node, exp.Anonymous) else (node.this, node.expression)
        match (self.sides(first), self.sides(second)):
            case (a, b) if a == {LEFT} and b == {RIGHT}:
                return SideComparison(kind, first, second)
            case (a, b) if a == {RIGHT} and b == {LEFT}:
                return SideComparison(_MIRRORED[kind], second, first)
            case _:
                return None

    def has_keys(self, node: exp.Expr) -> bool:
        """Whether every way to fulfil the condition has an equality of both sides, which ClickHouse demands."""
        node = node.unnest()
        if isinstance(node, exp.And):
            return self.has_keys(node.this) or self.has_keys(node.expression)
        if isinstance(node, exp.Or):
            return self.has_keys(node.this) and self.has_keys(node.expression)
        comparison = self.comparison(node)
        return comparison is not None and comparison.kind in EQUALITIES

    def reads_only(self, node: exp.Expr, side: str) -> bool:
        """Whether each part of the condition reads this side only, or no column at all."""
        return all(self.sides(part) <= {side} for part in self.conjuncts(node))


def _reuse_operand(operands: dict[int, Operand], handler: NodeHandler, tr: Translator, node: exp.Expr) -> TypedSql:
    """The value of an operand that is translated already; any other node goes to its handler."""
    known = operands.get(id(node))
    if known is None:
        return handler(tr, node)
    tr.trace.free.extend(known.columns)
    return known.value


@dataclass(frozen=True, slots=True)
class EqualityKey:
    """An equality of both sides, as Spark SQL of one type for each side."""

    left: str
    right: str
    equal: str
    """The operator: `=` or `<=>`."""
    nodes: tuple[exp.Expr, ...]
    """The two operands in ON, or the one column of USING."""

    @property
    def test(self) -> str:
        """The equality as Spark SQL."""
        return f"({self.left} {self.equal} {self.right})"


@dataclass(frozen=True, slots=True)
class AsofInequality:
    """The inequality of an ASOF JOIN: the nearest of the right rows with `left operator right` is joined."""

    left: str
    right: str
    operator: str


@dataclass(frozen=True, slots=True)
class SideFilter:
    """A condition on one side; one that reads no column counts as a condition on the left side."""

    side: str
    sql: str


Part: TypeAlias = Union[EqualityKey, AsofInequality, SideFilter]


@dataclass(frozen=True, slots=True)
class ConditionParts:
    """The parts of the condition of an ANY or ASOF JOIN."""

    keys: tuple[EqualityKey, ...]
    nearest: tuple[AsofInequality, ...]
    filters: tuple[SideFilter, ...]

    def filters_on(self, side: str) -> tuple[str, ...]:
        """The filters of one side as Spark SQL."""
        return tuple(part.sql for part in self.filters if part.side == side)


def using_columns(node: exp.Join) -> list[str]:
    """The columns that USING names."""
    return [column.name for column in node.args.get("using") or []]


def check_condition_form(tr: Translator, node: exp.Join, kind: JoinKind) -> None:
    """Raises Refused unless ON or USING is there, or, of a CROSS JOIN, if one is there."""
    given = bool(node.args.get("on") is not None or node.args.get("using"))
    if kind.spark == "CROSS JOIN" and given:
        raise tr.refusal(node, "invalid-join", "CROSS JOIN takes no ON or USING", "JOIN … ON does")
    if kind.spark != "CROSS JOIN" and not given:
        raise tr.refusal(node, "invalid-join", f"{kind.words} needs ON or USING", "CROSS JOIN needs none")


def using_column_pair(condition: JoinCondition, node: exp.Join, name: str) -> tuple[TypedSql, TypedSql]:
    """The columns of both sides that a name of USING means, noted as read. Raises Refused."""
    tr, right = condition.tr, condition.right
    lefts = tr.scope.relations[:-1]
    left = next((relation for relation in lefts if name in relation.columns), None)
    if left is None and name in tr.scope.aliases and name in right.columns:
        return _aliased_pair(condition, node, name)
    if left is None or name not in right.columns:
        known = right.columns if left is not None else [column for relation in lefts for column in relation.columns]
        raise tr.refusal(node, "unknown-column", f"unknown column `{name}` in USING", did_you_mean(name, known))
    for relation in (left, right):
        if relation.placeholder is not None:
            tr.uses.add_column(relation.placeholder, name)
    pair = (left.columns[name], right.columns[name])
    _check_using_type(tr, node, name, pair)
    return pair


def _aliased_pair(condition: JoinCondition, node: exp.Join, name: str) -> tuple[TypedSql, TypedSql]:
    """The pair where only an alias of the select list has the name: `SELECT toDate(time) AS date … USING date`. Raises
    Refused for an alias that reads the right side."""
    tr, right = condition.tr.with_new_trace(), condition.right
    value = tr.inside(name).translate(tr.scope.aliases[name])
    if any(condition.side_of(column) == RIGHT for column in tr.trace.free) or tr.trace.aggregates or tr.trace.windows:
        message = f"the alias `{name}` in USING must be an expression of the left side"
        raise tr.refusal(node, "unknown-column", message, "ON … = …")
    if right.placeholder is not None:
        tr.uses.add_column(right.placeholder, name)
    pair = (value, right.columns[name])
    _check_using_type(tr, node, name, pair)
    return pair


def _check_using_type(tr: Translator, node: exp.Expr, name: str, pair: tuple[TypedSql, TypedSql]) -> None:
    """Raises Refused unless there is a common type for the one column that stands for both."""
    refuse_dynamic(tr, node, pair, f"USING (`{name}`)")
    kinds = {type(value.bare) for value in pair}
    if supertype([value.type for value in pair]) is None or (t.Bool in kinds and len(kinds) > 1):
        message = f"USING (`{name}`) of {pair[0].type} and {pair[1].type}: there is no common type"
        raise tr.refusal(node, "no-common-type", message, "ON … = …")


def check_common_type(tr: Translator, node: exp.Expr, pair: tuple[TypedSql, TypedSql]) -> None:
    """Raises Refused if ClickHouse has no common type for both operands."""
    refuse_dynamic(tr, node, pair, "a key of JOIN")
    if supertype([value.type for value in pair]) is None:
        message = f"{pair[0].type} and {pair[1].type} have no common type"
        raise tr.refusal(node, "no-common-type", message, "cast one of them")


def split_condition(condition: JoinCondition, node: exp.Join, kind: JoinKind) -> ConditionParts:
    """The parts of ON or USING of an ANY or ASOF JOIN. Raises Refused for a part that is none of the kinds."""
    tr, on = condition.tr, node.args.get("on")
    spread = len(tr.trace.spread)
    if on is not None:
        parts = [_classify_part(condition, part, kind) for part in condition.conjuncts(on)]
    else:
        parts = _parts_of_using(condition, node, kind)
    keys = tuple(part for part in parts if isinstance(part, EqualityKey))
    if not keys:
        message = f"{kind.words} needs an equality of both sides in ON"
        raise tr.refusal(on or node, "invalid-join", message, "a.x = b.y AND …")
    if len(tr.trace.spread) > spread:
        message = f"arrayJoin in the condition of {kind.words} is not supported"
        raise tr.refusal(node, "unsupported-clause", message, "ARRAY JOIN before the JOIN")
    nearest = tuple(part for part in parts if isinstance(part, AsofInequality))
    return ConditionParts(keys, nearest, tuple(part for part in parts if isinstance(part, SideFilter)))


def _parts_of_using(condition: JoinCondition, node: exp.Join, kind: JoinKind) -> list[Part]:
    """Equalities of the columns; the last column of an ASOF JOIN is its inequality."""
    names = using_columns(node)
    pairs = [using_column_pair(condition, node, name) for name in names]
    nearest = pairs[-1:] if kind.asof else []
    keys: list[Part] = [
        EqualityKey(*_key_texts(condition.tr, node, pair), "=", (exp.column(name),))
        for name, pair in zip(names, pairs[: len(pairs) - len(nearest)], strict=False)
    ]
    return [*keys, *(_read_inequality(condition.tr, node, pair, ">=") for pair in nearest)]


def _classify_part(condition: JoinCondition, node: exp.Expr, kind: JoinKind) -> Part:
    comparison = condition.comparison(node)
    if comparison is None:
        return _read_filter(condition, node, kind)
    tr = condition.tr
    values = adapt_literals(tr, node, condition.value(comparison.left), condition.value(comparison.right))
    if comparison.kind in EQUALITIES:
        equal = "=" if comparison.kind is exp.EQ else "<=>"
        return EqualityKey(*_key_texts(tr, node, values), equal, (comparison.left, comparison.right))
    if not kind.asof:
        raise _refused_part(tr, node, kind)
    return _read_inequality(tr, node, values, COMPARISON_OPERATORS[comparison.kind])


def _key_texts(tr: Translator, node: exp.Expr, pair: tuple[TypedSql, TypedSql]) -> tuple[str, str]:
    """The operands of an equality as Spark SQL of one type. Raises Refused for types that cannot be grouped by."""
    check_common_type(tr, node, pair)
    kinds = {type(value.bare) for value in pair}
    if kinds & {t.Array, t.Tuple, t.Map} or (t.Enum in kinds and pair[0].bare != pair[1].bare):
        message = f"a key of {pair[0].type} and {pair[1].type} is not supported for ANY and ASOF"
        raise tr.refusal(node, "unsupported-clause", message, "an equality of each of its parts, or of texts")
    return as_comparable_pair(tr, node, *pair)


def _read_inequality(tr: Translator, node: exp.Expr, pair: tuple[TypedSql, TypedSql], operator: str) -> AsofInequality:
    if any(isinstance(value.bare, t.Float) for value in pair):
        message = "ASOF by floats is not supported: what ClickHouse finds beside NaN is not deterministic"
        raise tr.refusal(node, "unsupported-clause", message, "toDecimal64(…, 6) of both sides")
    wrong = next((value for value in pair if not isinstance(value.bare, _ORDERED)), None)
    if wrong is not None:
        message = f"ASOF needs numbers, dates or times in its inequality, this is {wrong.type}"
        raise tr.refusal(node, "wrong-argument-type", message)
    check_common_type(tr, node, pair)
    left, right = as_comparable_pair(tr, node, *pair)
    return AsofInequality(left, right, operator)


def _read_filter(condition: JoinCondition, node: exp.Expr, kind: JoinKind) -> SideFilter:
    tr, sides = condition.tr, condition.sides(node)
    if len(sides) > 1:
        raise _refused_part(tr, node, kind)
    side = RIGHT if RIGHT in sides else LEFT
    if kind.asof and side == LEFT and node.find(exp.Query):
        message = f"a SELECT in a condition on the left side of {kind.words} is not supported"
        raise tr.refusal(node, "unsupported-clause", message, "filter it in a SELECT of its own")
    value = condition.value(node)
    join_conditions(tr, node, "ON", [value])
    return SideFilter(side, as_condition(value))


def _refused_part(tr: Translator, node: exp.Expr, kind: JoinKind) -> Exception:
    """ClickHouse refuses such a part as well, or takes the first row of the key, which may not fulfil it."""
    message = f"{kind.words} takes equalities{' and one inequality' if kind.asof else ''} of both sides, not this"
    hint = "conditions of one side may stand beside them, others in WHERE"
    return tr.refusal(node, "unsupported-clause", message, hint)
