"""A text literal as a value of the type that it is cast to: `'1.15'::Decimal(9, 2)`, `'[1, 2]'::Array(UInt8)`.

In: the text and a type. Out: `TypedSql` of literals, or None where the conversion of a column's texts has to decide.
Raises ValueError if the text is no value of the type. Invariant: the digits are those of the text, never of a Float.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_DOWN, Context, Decimal

from penstock.model import types as t
from penstock.model.types import Type, is_nullable, unwrap_type
from penstock.parse.sql_syntax.integer_parsing import parse_whole_number
from penstock.sql.conversions.explicit import convert
from penstock.sql.expr.spark_types import value_type
from penstock.sql.expr.typed import TypedSql, integer, text, typed_sql
from penstock.sql.spark_text import double_literal, string_literal

_DIGITS = Context(prec=400)
_WHOLE, _NATURAL = re.compile(r"[+-]?[0-9]{1,78}"), re.compile(r"[+]?[0-9]{1,78}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_FLOAT = re.compile(r"[+-]?(?:(?:[0-9]+(?:[.][0-9]*)?|[.][0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity|nan))")
_LONGEST = 200
"""More characters than any number needs."""
_BARE_DAY = re.compile(r"([0-9]{4})(0[1-9]|1[0-2])(0[1-9]|1[0-9]|2[0-8])")
"""A day without hyphens that every month has."""
_TRUTHS = re.compile("true|t|yes|y|on|enabled?|1|false|f|no|n|off|disabled?|0", re.IGNORECASE)
_ITEM = re.compile(r"'((?:[^'\\]|\\.|'')*)'|[^\s,()\[\]']+", re.DOTALL)
_NULL = re.compile(r"NULL(?=\s*[,)\]])", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(.)|''", re.DOTALL)
_ESCAPED = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "0": "\0",
    "b": "\b",
    "f": "\f",
    "a": "\a",
    "v": "\v",
    "\\": "\\",
    "'": "'",
}


def read_literal_text(written: str, of: Type) -> TypedSql | None:
    """The value of a text. Raises ValueError if the type has no such value."""
    match unwrap_type(of):
        case t.Array() | t.Tuple():
            return _Reader(written).whole(of)
        case plain:
            found = _scalar(written, plain)
            return found if found is None or not is_nullable(of) else typed_sql(found.sql, of)


def _scalar(written: str, of: Type) -> TypedSql | None:
    match of:
        case t.Int():
            return _integer(written, of)
        case t.Decimal():
            return _decimal(written, of)
        case t.Float(bits):
            return _float(written, bits)
        case t.Bool() if _TRUTHS.fullmatch(written) is None:
            raise ValueError(written)
        case t.Enum(_, values) if written not in dict(values):
            name = next((name for name, number in values if number == _number_of(written)), None)
            if name is None:
                raise ValueError(written)
            return typed_sql(string_literal(name), of)
        case t.Date():
            day = _BARE_DAY.fullmatch(written)
            return None if day is None else convert(text("-".join(day.groups())), of)
        case _:
            return None


def _number_of(written: str) -> int | None:
    number = parse_whole_number(written.removeprefix("-"))
    return -number if number is not None and written.startswith("-") else number


def _integer(written: str, of: t.Int) -> TypedSql:
    whole = _WHOLE if of.signed else _NATURAL
    if whole.fullmatch(written) is None or not of.low <= int(written) <= of.high:
        raise ValueError(written)
    found = convert(integer(int(written)), of)
    assert found is not None, "every integer converts to every integer type"
    return found


def _float(written: str, bits: int) -> TypedSql | None:
    if _FLOAT.fullmatch(written) is None:
        raise ValueError(written)
    if not math.isfinite(float(written)):
        return None
    shown = double_literal(float(written)) if bits == 64 else f"CAST('{written}' AS FLOAT)"
    return typed_sql(shown, t.Float(bits))


def _decimal(written: str, of: t.Decimal) -> TypedSql | None:
    """Digits behind the scale are cut off."""
    if len(written) > _LONGEST or _NUMBER.fullmatch(written) is None:
        return None
    value = Decimal(written).quantize(Decimal(1).scaleb(-of.scale), ROUND_DOWN, _DIGITS)
    if abs(value) >= Decimal(10) ** (of.precision - of.scale):
        raise ValueError(written)
    return typed_sql(f"CAST('{value:f}' AS {value_type(of)})", of)


class _Reader:
    """A text of an array or tuple, read from its beginning on."""

    def __init__(self, written: str) -> None:
        self._written = written
        self._at = 0

    def whole(self, of: Type) -> TypedSql:
        """The value that is all of the text. Raises ValueError."""
        if self._written[:1].isspace():
            raise ValueError(self._written)
        found = self._value(of)
        if self._at < len(self._written):
            raise ValueError(self._written)
        return found

    def _value(self, of: Type) -> TypedSql:
        if is_nullable(of) and self._skips_null():
            return typed_sql(f"CAST(NULL AS {value_type(of)})", of)
        match unwrap_type(of):
            case t.Array(inner):
                return self._array(inner)
            case t.Tuple(fields) if fields:
                return self._tuple(fields)
            case plain:
                return self._item(plain)

    def _array(self, inner: Type) -> TypedSql:
        self._take("[")
        values: list[TypedSql] = []
        while not self._skips("]"):
            values.append(self._value(inner))
            if not self._skips(","):  # one may stand behind the last element
                self._take("]")
                break
        shown = f"array({', '.join(value.sql for value in values)})"
        of = t.Array(inner)
        return typed_sql(shown if values else f"CAST({shown} AS {value_type(of)})", of)

    def _tuple(self, fields: tuple[tuple[str | None, Type], ...]) -> TypedSql:
        self._take("(")
        parts = []
        for place, (name, of) in enumerate(fields, 1):
            if place > 1:
                self._take(",")
            parts.append(f"{string_literal(name or f'_{place}')}, {self._value(of).sql}")
        if len(fields) == 1:
            self._skips(",")
        self._take(")")
        return typed_sql(f"named_struct({', '.join(parts)})", t.Tuple(fields))

    def _item(self, of: Type) -> TypedSql:
        """A number without quotes, or a value of any other type in quotes."""
        self._skip_blanks()
        item = _ITEM.match(self._written, self._at)
        if item is None:
            raise ValueError(self._written)
        self._at = item.end()
        if (item[1] is None) != _is_bare(item[0], of):
            raise ValueError(self._written)
        written = item[0] if item[1] is None else _ESCAPE.sub(_unescape, item[1])
        if item[1] is None and isinstance(of, t.DateTime):
            found = convert(integer(int(written)), of)
        else:
            found = _scalar(written, of) or convert(text(written), of)
        if found is None:
            raise ValueError(self._written)
        return found

    def _skips_null(self) -> bool:
        """Whether NULL comes next, which is then read."""
        self._skip_blanks()
        found = _NULL.match(self._written, self._at)
        self._at = found.end() if found is not None else self._at
        return found is not None

    def _skip_blanks(self) -> None:
        while self._written[self._at : self._at + 1].isspace():
            self._at += 1

    def _skips(self, sign: str) -> bool:
        """Whether a sign comes next, which is then read."""
        self._skip_blanks()
        found = self._written.startswith(sign, self._at)
        self._at += len(sign) * found
        return found

    def _take(self, sign: str) -> None:
        if not self._skips(sign):
            raise ValueError(self._written)


def _is_bare(written: str, of: Type) -> bool:
    """Whether a value of the type is written without quotes."""
    match of:
        case t.Bool():
            return written in ("0", "1", "true", "false")
        case t.DateTime():
            return re.fullmatch("[0-9]{10}", written) is not None
        case _:
            return isinstance(of, (t.Int, t.Float, t.Decimal))


def _unescape(found: re.Match[str]) -> str:
    if found[1] is None:
        return "'"
    if found[1] not in _ESCAPED:
        raise ValueError(found[0])
    return _ESCAPED[found[1]]
