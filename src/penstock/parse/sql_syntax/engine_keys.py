"""Parses the keys and other expressions of an engine: their parts, and the columns that they name.

In: the text of a directive. Out: `KeyPart`s, and problems. Invariants: a part is one ClickHouse expression whose
columns all exist; ENGINE_SAMPLING_KEY, as in ClickHouse, is one unsigned expression of the primary key, or of the
sorting key where there is no primary key.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TypeGuard

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError

from penstock.errors import Problem, did_you_mean
from penstock.model import types as t
from penstock.model.datasource import Column, Text
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import AggregateFunction, is_nullable
from penstock.parse.lexer import Lexeme, lex, location_at, split_at_commas, text_slice

_WITHOUT_NULL = frozenset({"coalesce", "ifnull", "assumenotnull", "isnull", "isnotnull"})


@dataclass(frozen=True, slots=True)
class KeyPart:
    """One expression of a key."""

    text: Text
    names: tuple[tuple[str, int], ...]
    """The names that it reads, with their offsets."""
    tree: exp.Expr


def key_parts(text: Text, problems: list[Problem]) -> tuple[KeyPart, ...]:
    """The parts of `a, f(b)`, `(a, f(b))` or `tuple(a, f(b))`; `tuple()` and an empty text have none."""
    lexemes = _strip_brackets(lex(text.text))
    parts: list[KeyPart] = []
    for inner in split_at_commas(lexemes):
        found = text_slice(text, inner[0].start, inner[-2].end if len(inner) > 1 else inner[0].start)
        parsed = parse_expression(found, problems)
        if parsed is not None:
            parts.append(parsed)
    return tuple(parts)


def parse_expression(text: Text, problems: list[Problem]) -> KeyPart | None:
    """One expression; None if it is wrong, with a problem added."""
    try:
        tree = _parse_tree(text.text)
    except ParseError as error:
        problems.append(_syntax_problem(text, error))
    except (TokenError, RecursionError):
        problems.append(Problem("invalid-key", f"`{text.text[:60]}` is not an expression", text.location))
    else:
        return KeyPart(_unquote_name(text), tuple(_column_names(tree)), tree)
    return None


@lru_cache(maxsize=4096)
def _parse_tree(text: str) -> exp.Expr:
    """The syntax tree of a text, cached: many data sources have the same key. It must not be changed."""
    return sqlglot.parse_one(text, read="clickhouse", into=exp.Condition)


def check_columns(key: KeyPart, columns: Sequence[Column]) -> Iterator[Problem]:
    """A problem for each name that is not a column."""
    names = [column.name for column in columns]
    for name, offset in key.names:
        if name not in names:
            hint = did_you_mean(name, names)
            yield Problem("unknown-column", f"there is no column `{name}`", location_at(key.text, offset), hint)


def check_sortable(key: KeyPart, columns: Sequence[Column]) -> Iterator[Problem]:
    """A problem for each column whose values have no order that a sorting key can rely on."""
    types = {column.name: column.type for column in columns}
    for column in key.tree.find_all(exp.Column):
        name, offset = _root_name(column)
        of = types.get(name)
        if isinstance(of, AggregateFunction):
            message, hint = f"`{name}` is an AggregateFunction: it cannot be in the sorting key", None
        elif of is not None and is_nullable(of) and not _is_null_handled(column):
            message = f"`{name}` is Nullable: it cannot be in the sorting key"
            hint = f"write coalesce({name}, …), or make the column not Nullable with a DEFAULT"
        else:
            continue
        yield Problem("invalid-key", message, location_at(key.text, offset), hint)


def _strip_brackets(lexemes: Sequence[Lexeme]) -> Sequence[Lexeme]:
    """The lexemes inside of brackets that stand around all of them."""
    *inner, end = lexemes
    start = 1 if inner and inner[0].says("tuple") else 0
    if len(inner) < start + 2 or not inner[start].says("(") or not inner[-1].says(")"):
        return lexemes
    depth = 0
    for lexeme in inner[start:-1]:
        depth += lexeme.says("(") - lexeme.says(")")
        if depth == 0:
            return lexemes
    return (*inner[start + 1 : -1], end)


def _syntax_problem(text: Text, error: ParseError) -> Problem:
    first = error.errors[0] if error.errors else {}
    line, column = first.get("line"), first.get("col")
    where = text.location
    if isinstance(line, int) and isinstance(column, int):
        where = text.at(line, max(1, column - len(str(first.get("highlight") or " ")) + 1))
    return Problem("invalid-key", f"`{text.text[:60]}` is not an expression", where)


def _unquote_name(text: Text) -> Text:
    """A name without its quotes, unless it is no name without them: `from` and `null` are words of SQL."""
    name = column_name(text.text)
    return Text(name, text.location, text.indent) if _is_name(name) else text


def column_name(key: str) -> str:
    """The name of the column that a part of a key is; of another expression, its text."""
    found = lex(key)
    return found[0].value if len(found) == 2 and found[0].kind == "quoted" else key


def _is_name(word: str) -> bool:
    if not word.isidentifier():
        return False
    try:
        return isinstance(_parse_tree(word), exp.Column)
    except (ParseError, TokenError):
        return False


def _column_names(tree: exp.Expr) -> Iterator[tuple[str, int]]:
    return map(_root_name, tree.find_all(exp.Column))


def _root_name(column: exp.Column) -> tuple[str, int]:
    """The first name of `a.b.c`: a column, the rest being its elements."""
    first = column.parts[0]
    return first.name, int(first.meta.get("start", 0))


def _is_null_handled(column: exp.Column) -> bool:
    """Whether a function around the column gives a value for NULL."""
    around = column.parent
    while around is not None:
        name = around.name if isinstance(around, exp.Anonymous) else around.key
        if name.lower() in _WITHOUT_NULL or isinstance(around, exp.Is):
            return True
        around = around.parent
    return False


def check_sampling(
    sampling: Sequence[KeyPart], keys: Sequence[KeyPart], columns: Sequence[Column]
) -> Iterator[Problem]:
    """Problems of ENGINE_SAMPLING_KEY. `keys` are the parts of the primary key, or of the sorting key. The type of an
    expression is checked where SAMPLE is compiled."""
    known = {column.name: column.type for column in columns}
    if not sampling or any(name not in known for name, _ in sampling[0].names):
        return
    text = sampling[0].text
    of = known.get(text.text)
    if len(sampling) > 1 or (of is not None and not is_unsigned(of)):
        message = "ENGINE_SAMPLING_KEY needs one expression of UInt8, UInt16, UInt32 or UInt64"
        yield Problem("invalid-key", message, text.location, "such as cityHash64(…) of a column")
    elif expression_tokens(text.text) not in [expression_tokens(each.text.text) for each in keys]:
        message = f"`{text.text}` is not part of the primary key, nor of the sorting key where there is none"
        hint = "add it to ENGINE_SORTING_KEY and ENGINE_PRIMARY_KEY"
        yield Problem("invalid-key", message, text.location, hint)


def is_unsigned(of: t.Type) -> TypeGuard[t.Int]:
    """Whether SAMPLE can cut the range of the type."""
    return isinstance(of, t.Int) and not of.signed and of.bits <= 64


def expression_tokens(sql: str) -> tuple[str, ...]:
    """The words and signs of an expression."""
    return tuple(lexeme.text for lexeme in lex(sql))
