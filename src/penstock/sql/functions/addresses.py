"""IPv4 addresses as texts and numbers.

In: `Typed` arguments. Out: rows of the table. Called by `functions.table`. Invariant: a text that is no address
fails, or becomes NULL or 0 as the name says.
"""

from __future__ import annotations

from collections.abc import Sequence

from penstock.model import types as t
from penstock.sql.functions.function import STRING, UINT8, UINT32, BadArguments, Function
from penstock.sql.let import let
from penstock.sql.typed import Typed, as_spark, null_if_any, typed, unless_null
from penstock.sql.value_types import text_literal

_BYTE = "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
_ADDRESS = text_literal(rf"^{_BYTE}[.]{_BYTE}[.]{_BYTE}[.]{_BYTE}\z")


def _shown(name: str, last: str) -> Function:
    """A number as an address; `last` is what stands for its last byte."""

    def build(values: Sequence[Typed]) -> Typed:
        of = values[0].bare
        if not isinstance(of, t.Int) or of.signed or of.bits > 32:
            raise BadArguments(f"`{name}` needs a UInt32, this is {values[0].type}", "toUInt32(…)")

        def formula(v: str) -> str:
            parts = (f"CAST(shiftright({v}, {shift}) & 255L AS STRING)" for shift in (24, 16, 8))
            return f"concat_ws('.', {', '.join(parts)}, {last.format(v)})"

        sql = let(as_spark(values[0], "BIGINT"), formula)
        sql = unless_null(sql, values[0])
        return typed(sql, null_if_any(STRING, list(values)))

    return Function(name, (1, 1), ("integer",), build)


def _number(name: str, otherwise: str) -> Function:
    def build(values: Sequence[Typed]) -> Typed:
        def formula(v: str) -> str:
            parts = f"transform(split({v}, '[.]'), ` p` -> CAST(` p` AS BIGINT))"
            number = f"aggregate({parts}, 0L, (` a`, ` e`) -> ` a` * 256L + ` e`)"
            return f"CASE WHEN {v} IS NULL THEN NULL WHEN {v} RLIKE {_ADDRESS} THEN {number} ELSE {otherwise} END"

        of = t.Nullable(UINT32) if otherwise == "NULL" else null_if_any(UINT32, list(values))
        return typed(let(values[0].sql, formula), of)

    return Function(name, (1, 1), ("text",), build)


def _is_address(values: Sequence[Typed]) -> Typed:
    return Typed(f"({values[0].sql} RLIKE {_ADDRESS})", null_if_any(UINT8, list(values)), "BOOLEAN")


FUNCTIONS: tuple[Function, ...] = (
    _shown("IPv4NumToString", "CAST({0} & 255L AS STRING)"),
    _shown("IPv4NumToStringClassC", "'xxx'"),
    _number("IPv4StringToNum", "raise_error('the text is no IPv4 address')"),
    _number("IPv4StringToNumOrDefault", "0L"),
    _number("IPv4StringToNumOrNull", "NULL"),
    Function("isIPv4String", (1, 1), ("text",), _is_address),
)
ALIASES: dict[str, str] = {"INET_NTOA": "IPv4NumToString", "INET_ATON": "IPv4StringToNum"}
ANY_CASE = ("INET_NTOA", "INET_ATON")
