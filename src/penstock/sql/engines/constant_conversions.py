"""Conversions of a text in the SQL itself that cannot succeed: `toUInt64('x')`.

In: an expression as parsed, and the type that it was compiled to. Out: the text that is no value of the type.
Invariant: a text is named only if the conversion fails for it in every row; what is not certain is left to the rows.
"""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.model import types as t
from penstock.model.types import Type

_SIGNED, _UNSIGNED = re.compile(r"[-+]?[0-9]+"), re.compile(r"[+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(?:(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][-+]?[0-9]+)?|(?i:inf|infinity|nan))")
_UUID = re.compile(r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[0-9a-fA-F]{32}")
_MOST_DIGITS = 78
"""As many as the largest UInt256 has."""
_DIGIT = re.compile(r"[0-9]")


def failing_text(tree: exp.Expr, of: Type) -> str | None:
    """The text that an expression converts to a type which does not have it; None for any other expression, also for a
    conversion that gives NULL or a default instead."""
    text = _converted_text(tree, of)
    return text if text is not None and not _may_be_value(text, of) else None


def _converted_text(tree: exp.Expr, of: Type) -> str | None:
    match tree:
        case (
            exp.Cast(this=exp.Literal(is_string=True) as text)
            | exp.CastToStrType(this=exp.Literal(is_string=True) as text)
        ):
            return str(text.this)
        case exp.Anonymous(expressions=[exp.Literal(is_string=True) as text]) if _function(tree) == f"to{of}":
            return str(text.this)
        case _:
            return None


def _function(call: exp.Anonymous) -> str:
    """The name of a function as it was written."""
    return call.name.rstrip("@")


def _may_be_value(text: str, of: Type) -> bool:
    """Whether a text may be one of the type; True for types whose texts are not looked at."""
    match of:
        case t.Int():
            whole = _SIGNED if of.low < 0 else _UNSIGNED
            # No type has a value of so many digits, and Python reads no number of more than 4,300.
            has_room = len(text.lstrip("+-0")) <= _MOST_DIGITS
            if not has_room or whole.fullmatch(text) is None:
                return False
            sign, digits = text[:1].strip("+0123456789"), text.lstrip("+-0") or "0"
            return of.low <= int(sign + digits) <= of.high
        case t.Float():
            return _FLOAT.fullmatch(text) is not None
        case t.UUID():
            return _UUID.fullmatch(text) is not None
        case t.Date() | t.DateTime() | t.DateTime64():
            return _DIGIT.search(text) is not None
        case _:
            return True
