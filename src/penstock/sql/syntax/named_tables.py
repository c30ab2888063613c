"""Tables that are named in SQL which need not parse: a template, a query with an error.

In: a text. Out: the names that stand after FROM, JOIN or IN; `a.b` gives `a` and `a.b`. Invariants: what stands in a
comment or a string is no name; of a text that cannot be divided into tokens, for a quote that is open, the lines that
can be are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import tokenize
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

_PLACES = frozenset({TokenType.FROM, TokenType.JOIN, TokenType.IN})
_NAME = re.compile(r"\w+")


def find_named_tables(text: str) -> frozenset[str]:
    """The names where a table stands; some of them may be columns or aliases."""
    return frozenset(name for tokens in _lex(text) for name in _names_at_places(tokens))


def _lex(text: str) -> Iterator[list[Token]]:
    try:
        yield tokenize(text, read="clickhouse")
    except SqlglotError:
        lines = text.splitlines()
        if len(lines) > 1:
            for line in lines:
                yield from _lex(line)


def _names_at_places(tokens: list[Token]) -> Iterator[str]:
    follows = False
    for at, token in enumerate(tokens):
        if follows and token.token_type != TokenType.STRING and _NAME.fullmatch(token.text):
            yield token.text
            match tokens[at + 1 : at + 3]:
                case [dot, inner] if dot.token_type == TokenType.DOT:
                    yield f"{token.text}.{inner.text}"
        follows = token.token_type in _PLACES or (follows and token.token_type == TokenType.L_PAREN)
