"""Literals that IN and CASE look for among Decimals, as ClickHouse converts them: `amount IN (19.9)`.

In: a constant and a Decimal type. Out: a Decimal of that type, or None if nothing equals the constant. Invariant: a
Float is multiplied as a Float and cut off, and equals nothing unless the Decimal is the same Float (1.15 is not 1.14);
a text is read by its digits.
"""

from __future__ import annotations

from sqlglot import exp

from penstock.model import types as t
from penstock.sql.compiler.translator import Translator
from penstock.sql.conversions.literal_texts import read_literal_text
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import Constant, TypedSql, typed_sql

_EXACT = 2**53
"""Doubles hold every integer up to here."""


def decimal_of_literal(tr: Translator, node: exp.Expr, constant: Constant, of: t.Decimal) -> TypedSql | None:
    """The Decimal to look for. Raises Refused for a number or text that the type has no room for."""
    if isinstance(constant, str):
        return _decimal_of_text(tr, node, constant, of)
    scaled = float(constant) * float(10**of.scale)
    if not abs(scaled) < min(10**of.precision, _EXACT):
        raise tr.refusal(node, "invalid-literal", f"{constant} is not exact as {of}", f"write '{constant}'::{of}")
    whole = int(scaled)
    if whole / 10**of.scale != constant:
        return None
    digits = f"{abs(whole):0{of.scale + 1}d}"
    place = len(digits) - of.scale
    shown = f"{'-' if whole < 0 else ''}{digits[:place]}{'.' if of.scale else ''}{digits[place:]}"
    return typed_sql(f"CAST('{shown}' AS {value_type(of)})", of)


def _decimal_of_text(tr: Translator, node: exp.Expr, written: str, of: t.Decimal) -> TypedSql:
    try:
        found = read_literal_text(written, of)
    except ValueError:
        found = None
    if found is None:
        raise tr.refusal(node, "invalid-literal", f"'{written}' is not a value of {of}")
    return found
