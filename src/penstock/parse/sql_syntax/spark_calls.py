"""Calls of Spark's functions that sqlglot does not write as it reads them.

In: Spark SQL as somebody wrote it. Out: the first call of which an argument would be lost, or that would become another
function, with what to write instead. Invariant: each kind of call is asked of sqlglot itself, with the literals that it
has and with names for its other arguments, so that another version of sqlglot gives other answers and no wrong rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import lru_cache

import sqlglot
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.tokens import Token, TokenType

from penstock.model.quick_dataclass import dataclass

_DIALECT = "spark"
_OPENED = {TokenType.L_PAREN: TokenType.R_PAREN, TokenType.L_BRACKET: TokenType.R_BRACKET}
_CLOSING = frozenset((TokenType.R_PAREN, TokenType.R_BRACKET))
_GIVEN = re.compile(r"(?<![\w'])__given\d+(?![\w'])")
_NAME = re.compile(r"[a-z]\w*")
_FAILURES = (SqlglotError, TypeError, ValueError, IndexError, AttributeError, LookupError)
_EXACT = "write percentile(value, share), which is exact"
_OTHERS: dict[str, tuple[str, str]] = {
    "log10": ("`log10` would become log(10, x), whose last digit may differ", "write log(10.0, x)"),
    "parse_json": ("`parse_json` would become the text itself", "write try_parse_json"),
    "percentile_cont": ("`percentile_cont` would become an approximation", _EXACT),
    "percentile_disc": ("`percentile_disc` would become an approximation", f"write percentile_approx; or {_EXACT}"),
}
"""Functions that become others with any arguments."""
_ONE_ARGUMENT: dict[str, tuple[str, str]] = {
    "listagg": ("`listagg` of one argument would put commas between texts", "write listagg(text, '')"),
    "string_agg": ("`string_agg` of one argument would put commas between texts", "write string_agg(text, '')"),
    "to_number": ("`to_number` needs a format", "write it, or a CAST"),
}
_HINTS = {
    "to_char": "write to_varchar",
    "percentile": "leave a frequency of 1 out; of others, explode array_repeat(value, frequency) before",
    "date_trunc": "write the unit as a text: 'HOUR'",
    "to_date": "leave the format out, or write CAST(to_timestamp(text, format) AS DATE)",
    "trunc": "write the unit as a text: 'MONTH'",
    "get_json_object": "write a path of names and numbers: $.a[0]['b c']",
}
_MEAN_THE_SAME = frozenset(("named_struct", "first", "last", "first_value", "last_value", "any_value"))
"""Functions whose texts become names, or whose TRUE becomes IGNORE NULLS."""
_FORMAT = "'yyyy-MM-dd HH:mm:ss'"
_DEFAULTS = {
    **dict.fromkeys(("regexp_extract", "regexp_extract_all"), "1"),
    **dict.fromkeys(("from_unixtime", "unix_timestamp", "to_unix_timestamp"), _FORMAT),
}
"""Arguments that are left out, for Spark then takes the same."""


@dataclass(frozen=True, slots=True)
class ChangedCall:
    """A call that would be written with another meaning."""

    offset: int
    message: str
    hint: str | None


@dataclass(slots=True)
class _OpenBracket:
    """A bracket while its inside is read, and the word before it."""

    word: Token | None
    starts: list[int] = field(default_factory=list)
    """Where each argument begins, as an index of tokens."""


def find_changed_call(sql: str) -> ChangedCall | None:
    """The first call of a text that sqlglot would change; None for a text that is no SQL, which its parser refuses."""
    try:
        tokens = sqlglot.tokenize(sql, dialect=_DIALECT)
    except _FAILURES:
        return None
    found = [(word, change) for word, given in _calls(tokens, sql) if (change := _change(word.text.lower(), given))]
    found += [(each, _TIME) for each in _times(tokens)]
    if not found:
        return None
    word, (message, hint) = min(found, key=lambda each: each[0].start)
    return ChangedCall(word.start, message, hint)


_TIME = ("the type TIME would become TIMESTAMP", "use to_time(text), or keep times of day as numbers or texts")


def _times(tokens: Sequence[Token]) -> Iterator[Token]:
    """The words TIME that are types: before a text, and in casts."""
    words = [""]
    """The word before each parenthesis that is open."""
    for at, token in enumerate(tokens):
        if token.token_type == TokenType.L_PAREN:
            words.append(tokens[at - 1].text.lower() if at else "")
        elif token.token_type == TokenType.R_PAREN and len(words) > 1:
            words.pop()
        before = [each.token_type for each in tokens[max(at - 1, 0) : at]]
        behind = [each.token_type for each in tokens[at + 1 : at + 2]]
        if token.token_type == TokenType.TIME:
            in_cast = before == [TokenType.ALIAS] and words[-1] in ("cast", "try_cast")
            if behind == [TokenType.STRING] or before == [TokenType.DCOLON] or in_cast:
                yield token


def _calls(tokens: Sequence[Token], sql: str) -> Iterator[tuple[Token, tuple[str, ...]]]:
    """Each word before a parenthesis, with its arguments as `_shown` has them."""
    open_: list[_OpenBracket] = []
    for at, token in enumerate(tokens):
        kind = token.token_type
        if kind in _OPENED:
            is_call = kind == TokenType.L_PAREN and at > 0 and _NAME.fullmatch(tokens[at - 1].text.lower())
            open_.append(_OpenBracket(tokens[at - 1] if is_call else None, [at + 1]))
        elif kind == TokenType.COMMA and open_:
            open_[-1].starts.append(at + 1)
        elif kind in _CLOSING and open_:
            bracket = open_.pop()
            if bracket.word is not None and at > bracket.starts[0]:
                ends = [*(start - 1 for start in bracket.starts[1:]), at]
                parts = zip(bracket.starts, ends, strict=True)
                yield bracket.word, tuple(_shown(tokens[start:end], sql) for start, end in parts)


def _shown(argument: Sequence[Token], sql: str) -> str:
    """A literal as it is written; empty for anything else."""
    is_literal = len(argument) == 1 and argument[0].token_type in (TokenType.STRING, TokenType.NUMBER)
    return sql[argument[0].start : argument[0].end + 1] if is_literal else ""


@lru_cache(maxsize=4096)
def _change(name: str, given: tuple[str, ...]) -> tuple[str, str | None] | None:
    """What sqlglot makes of a call, if it means something else, and what to write instead."""
    if name in _OTHERS:
        return _OTHERS[name]
    if len(given) == 1 and name in _ONE_ARGUMENT:
        return _ONE_ARGUMENT[name]
    if len(given) > 1 and name in ("max", "min"):
        return f"`{name}` of several values would be another function", f"write {_OF_ROW[name]} for those of one row"
    arguments = [each or f"__given{at}" for at, each in enumerate(given)]
    written = _written(f"{name}({', '.join(arguments)})")
    if written is None or name in _MEAN_THE_SAME:
        return None
    kept = (_is_in(each, written) or each == _DEFAULTS.get(name) for each in arguments)
    lost = next((at for at, is_kept in enumerate(kept) if not is_kept), None)
    if lost is None:
        return None
    return f"the argument {lost + 1} of `{name}` would be lost or changed", _HINTS.get(name)


_OF_ROW = {"max": "greatest", "min": "least"}


def _written(text: str) -> str | None:
    """An expression as sqlglot writes it; None if it is none."""
    try:
        return sqlglot.parse_one(text, dialect=_DIALECT).sql(dialect=_DIALECT, unsupported_level=ErrorLevel.IGNORE)
    except _FAILURES:
        return None


def _is_in(argument: str, written: str) -> bool:
    """Whether an argument stands in what is written; units become upper case. A name is looked for outside of texts."""
    if argument.startswith("__given"):
        return argument in _GIVEN.findall(written.lower())
    shown = _written(argument)
    return shown is None or shown.lower() in written.lower()
