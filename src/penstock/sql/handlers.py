"""Which function translates which kind of node: the one table behind `Translator.translate`.

In: the modules of the translation. Out: `HANDLERS`. Called by passes and transpile. Invariant: a kind
of node that is not here is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp

from penstock.model import types as t
from penstock.sql import arithmetic, choice, comparisons, filtered, literals, logic, names, subqueries, windows
from penstock.sql.calls import call
from penstock.sql.functions.arrays import element
from penstock.sql.functions.function import BadArguments
from penstock.sql.functions.operators import concat
from penstock.sql.special_forms import cast
from penstock.sql.tokens import CALL_MARK
from penstock.sql.translator import Handler, Translator
from penstock.sql.typed import Typed, integer


def _bracket(tr: Translator, node: exp.Expr) -> Typed:
    """`array[place]`; the parser has taken 1 off a literal place."""
    value = tr.translate(node.this)
    if len(node.expressions) != 1:
        raise tr.refused(node, "unsupported-syntax", "expected one place in `[…]`")
    key = tr.translate(node.expressions[0])
    if isinstance(key.constant, int) and node.args.get("offset") != 1 and isinstance(key.bare, t.Int):
        key = integer(key.constant + 1)
    return _built(tr, node, lambda: element([value, key]))


def _concat(tr: Translator, node: exp.Expr) -> Typed:
    pair = [tr.translate(node.this), tr.translate(node.expression)]
    return _built(tr, node, lambda: concat(pair))


def _built(tr: Translator, node: exp.Expr, build: Callable[[], Typed]) -> Typed:
    try:
        return build()
    except BadArguments as error:
        raise tr.refused(node, "wrong-argument-type", error.message, error.hint) from error


_PARTS = {
    "YEAR": "toYear", "QUARTER": "toQuarter", "MONTH": "toMonth", "DAY": "toDayOfMonth", "HOUR": "toHour",
    "MINUTE": "toMinute", "SECOND": "toSecond", "WEEK": "toISOWeek", "EPOCH": "toUnixTimestamp",
}  # fmt: skip


def _extract(tr: Translator, node: exp.Expr) -> Typed:
    """EXTRACT(part FROM time); `extract(text, pattern)` is a function."""
    name = _PARTS.get(node.name.upper())
    if name is None:
        raise tr.refused(node, "unsupported-syntax", f"cannot extract `{node.name}`", ", ".join(_PARTS))
    return call(tr, exp.Anonymous(this=name + CALL_MARK, expressions=[node.expression]))


def _trim(tr: Translator, node: exp.Expr) -> Typed:
    characters = node.args.get("expression")
    name = {"LEADING": "trimLeft", "TRAILING": "trimRight"}.get(
        str(node.args.get("position") or "").upper(), "trimBoth"
    )
    given = [node.this] if characters is None else [node.this, characters]
    return call(tr, exp.Anonymous(this=name + CALL_MARK, expressions=given))


HANDLERS: Mapping[type[exp.Expr], Handler] = {
    exp.Column: names.column,
    exp.Identifier: names.identifier,
    exp.Dot: names.dot,
    exp.Alias: literals.alias,
    exp.Paren: literals.paren,
    exp.Literal: literals.literal,
    exp.HexString: literals.hexadecimal,
    exp.Boolean: literals.boolean_literal,
    exp.Null: literals.null,
    exp.Neg: literals.negative,
    exp.Array: literals.array,
    exp.Tuple: literals.tuple_of,
    exp.Interval: literals.interval,
    exp.Filter: filtered.filtered,
    exp.RespectNulls: filtered.respecting_nulls,
    exp.IgnoreNulls: filtered.ignoring_nulls,
    exp.Bracket: _bracket,
    exp.DPipe: _concat,
    **dict.fromkeys(arithmetic.OPERATORS, arithmetic.binary),
    **dict.fromkeys(comparisons.OPERATORS, comparisons.comparison),
    exp.NullSafeEQ: comparisons.null_safe,
    exp.And: logic.conjunction,
    exp.Or: logic.conjunction,
    exp.Not: logic.negation,
    exp.Is: logic.is_test,
    exp.Between: comparisons.between,
    exp.Like: comparisons.like,
    exp.ILike: comparisons.like,
    exp.Case: choice.case,
    exp.If: choice.ternary,
    exp.In: subqueries.membership,
    exp.Exists: subqueries.exists,
    exp.Subquery: subqueries.scalar,
    exp.Select: subqueries.scalar,
    exp.Cast: cast,
    exp.CastToStrType: cast,
    exp.Extract: _extract,
    exp.Trim: _trim,
    exp.Anonymous: call,
    exp.Window: windows.window,
}
