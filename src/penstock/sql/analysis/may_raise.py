"""Whether compiled Spark SQL may raise: what is in a list of forms that never do is safe, nothing else.

In: SQL. Out: a boolean. Called by probes and plan. Invariant: of whatever is not known never to raise, it
may.

The SQL of a conversion that does not raise.

In: SQL that the conversion_* modules made. Out: the same with NULL where it would raise. Called by conversions
and by what probes them. Invariant: only for SQL of conversions, whose forms it knows.
"""

from __future__ import annotations

import re

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from penstock.integer_parsing import parse_whole_number
from penstock.sql.syntax.tokens import closing

_TEXTS = (TokenType.STRING, TokenType.IDENTIFIER)
_SIGNS = frozenset({"(", ")", ",", "=", "<>", "!=", "<", "<=", ">", ">=", "<=>", "->", "."})
_WORDS = frozenset({"and", "or", "not", "in", "when", "then", "else", "case", "between"})
_NAMES = frozenset({
    "is", "null", "true", "false", "as", "end", "l", "d", "string", "binary", "boolean", "int", "bigint", "float",
    "double", "decimal", "date", "timestamp", "array", "map", "struct", "variant",
})  # fmt: skip
"""Keywords and types that no parenthesis follows, and the letters after numbers."""
_NEVER = frozenset({
    "array", "array_distinct", "btrim", "char_length", "coalesce", "concat", "contains", "current_date",
    "current_timestamp", "date_trunc", "dayofmonth", "dayofyear", "endswith", "exists", "filter", "forall",
    "get_json_object", "greatest", "hour", "if", "instr", "isnan", "isnotnull", "isnull", "last_day", "least",
    "left", "length", "lower", "ltrim", "minute", "month", "named_struct", "octet_length", "quarter", "rand",
    "replace", "reverse", "right", "rtrim", "second", "size", "startswith", "struct", "substring", "transform",
    "translate", "trim", "try_add", "try_cast", "try_divide", "try_element_at", "try_mod", "try_multiply",
    "try_parse_json", "try_subtract", "try_to_timestamp", "try_variant_get", "unix_date", "unix_micros",
    "unix_seconds", "upper", "uuid", "weekday", "year",
})  # fmt: skip


def may_raise(sql: str) -> bool:
    """Whether compiled Spark SQL may raise for some row: of whatever is not known never to, it may."""
    try:
        tokens = sqlglot.tokenize(sql, dialect="spark")
        return not all(_is_safe(tokens, place) for place in range(len(tokens)))
    except (SqlglotError, IndexError):
        return True


def is_call(tokens: list[Token], place: int) -> bool:
    """Whether a parenthesis follows a name."""
    opened = tokens[place + 1 : place + 2]
    return tokens[place].token_type not in _TEXTS and bool(opened) and opened[0].token_type == TokenType.L_PAREN


def _is_safe(tokens: list[Token], place: int) -> bool:
    token, before = tokens[place], tokens[place - 1] if place else None
    text = token.text.lower()
    if token.token_type in (*_TEXTS, TokenType.NUMBER) or text in _SIGNS:
        return True
    if token.token_type in (TokenType.DCOLON, TokenType.DASH):
        return _is_literal(tokens, place, before)
    if text in ("rlike", "like", "ilike"):
        return _is_pattern(text, tokens[place + 1])
    if not is_call(tokens, place) or text in _WORDS or text in _NEVER:
        return token.token_type == TokenType.VAR or text in _WORDS or text in _NEVER or text in _NAMES
    if text == "double":
        given = tokens[place + 2]
        return given.token_type == TokenType.STRING and given.text in ("Infinity", "-Infinity", "NaN")
    return _is_safe_cast(tokens, place) if text == "cast" else _is_type(tokens, place)


def _is_literal(tokens: list[Token], place: int, before: Token | None) -> bool:
    """`1L`, which is read as 1::L, and a sign that belongs to a number."""
    if tokens[place].token_type == TokenType.DCOLON:
        return before is not None and before.start == tokens[place].start
    starts = before is None or before.token_type not in _TEXTS
    starts = starts and (before is None or before.text.lower() in _WORDS or (before.text in _SIGNS - {")", "."}))
    return starts and tokens[place + 1].token_type == TokenType.NUMBER


def _is_pattern(word: str, token: Token) -> bool:
    """A literal that Java reads as Python does. A repeated group may take all of the stack."""
    if token.token_type != TokenType.STRING or word != "rlike":
        return token.token_type == TokenType.STRING and "\\" not in token.text
    strange = (
        r"\)[*+{]|\[\^?[\]\[]|\[[^\]]*\[|&&|\\[A-Za-ce-rt-vx-z0]|\(\?(?![si]?:|s\))|\{(?![0-9]+(,[0-9]*)?\})|[*+?}]\+"
    )
    pattern = token.text.replace(r"\z", "$")
    if re.search(strange, pattern):
        return False
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def _is_safe_cast(tokens: list[Token], place: int) -> bool:
    """To a text; of a literal that the type holds."""
    inside = tokens[place + 2 : closing(tokens, place + 1)]
    splits = [at for at, each in enumerate(inside) if each.token_type == TokenType.ALIAS]
    if not splits:
        return False
    value, to = inside[: splits[-1]], "".join(each.text.upper() for each in inside[splits[-1] + 1 :])
    if len(value) != 1 or value[0].token_type not in (TokenType.NUMBER, TokenType.NULL):
        return to in ("STRING", "BINARY") or [each.text.upper() for each in value] == ["ARRAY", "(", ")"]
    wide = (len(value[0].text) <= 9 and to in ("INT", "BIGINT", "FLOAT", "DOUBLE")) or to == "DECIMAL(20,0)"
    whole = wide and parse_whole_number(value[0].text) is not None
    return to == "STRING" or value[0].token_type == TokenType.NULL or whole or value[0].text == "0"


def _is_type(tokens: list[Token], place: int) -> bool:
    """The DECIMAL(p, s) of a cast."""
    return tokens[place].text.lower() == "decimal" and tokens[place - 1].text.lower() == "as"


def tolerant(sql: str) -> str:
    """The same SQL, but NULL where it would raise."""
    tokens = sqlglot.tokenize(sql, dialect="spark")
    out: list[str] = []
    end = 0
    for place, token in enumerate(tokens[:-1]):
        if token.start < end or not is_call(tokens, place):
            continue
        last = tokens[closing(tokens, place + 1)]
        inside = sql[tokens[place + 1].end + 1 : last.start]
        match token.text.lower():
            case "cast":
                new, stop = "try_cast", token.end + 1
            case "raise_error":
                new, stop = "NULL", last.end + 1
            case "timestamp_seconds":
                micros = f"try_cast(try_multiply({tolerant(inside)}, 1000000L) AS BIGINT)"
                new, stop = f"timestamp_micros({micros})", last.end + 1
            case _:
                continue
        out += [sql[end : token.start], new]
        end = stop
    return "".join(out) + sql[end:]
