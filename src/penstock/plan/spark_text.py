"""Put other names, or expressions, in the place of identifiers of Spark SQL text.

In: SQL made by `penstock.sql` (every column name in back-quotes) and what stands for which name.
Out: SQL, and the names it uses. Called by the modules of plan that go from logical to physical
columns. Invariant: strings, functions and the fields of structs are never touched.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType


def quoted(name: str) -> str:
    """A Spark SQL identifier."""
    return "`" + name.replace("`", "``") + "`"


def substitute(sql: str, values: Mapping[str, str]) -> str:
    """The SQL with each identifier that is a key of `values` replaced by SQL."""
    parts: list[str] = []
    end = 0
    for token in _columns(sql):
        if token.text in values:
            parts += [sql[end : token.start], values[token.text]]
            end = token.end + 1
    return "".join(parts) + sql[end:]


def replace_calls(sql: str, values: Mapping[str, str]) -> str:
    """The SQL with each call without arguments of a function (in lower case) replaced by SQL."""
    parts: list[str] = []
    end = 0
    tokens = sqlglot.tokenize(sql, dialect="spark")
    for token, opened, closed in zip(tokens, tokens[1:], tokens[2:], strict=False):
        name = "" if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER) else token.text.lower()
        if name in values and (opened.text, closed.text) == ("(", ")"):
            parts += [sql[end : token.start], values[name]]
            end = closed.end + 1
    return "".join(parts) + sql[end:]


def names(sql: str) -> frozenset[str]:
    """The identifiers in the SQL."""
    return frozenset(token.text for token in _columns(sql))


def tree_of(sql: str) -> exp.Expr | None:
    """The syntax tree of Spark SQL; None where the parser does not know the form."""
    try:
        return sqlglot.parse_one(sql, dialect="spark")
    except SqlglotError:
        return None


@functools.lru_cache(maxsize=1024)
def output_names(sql: str) -> tuple[str, ...]:
    """The names of the columns of a SELECT, in order."""
    tree = tree_of(sql)
    return tuple(tree.named_selects) if isinstance(tree, exp.Query) else ()


def is_plain(sql: str) -> bool:
    """Whether the SQL costs next to nothing to evaluate: columns, constants, casts and choices among
    them by `_seq`."""
    tree = tree_of(sql)
    return tree is not None and all(isinstance(node, _PLAIN) for node in tree.walk())


_PLAIN = (
    exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Cast, exp.DataType, exp.DataTypeParam,
    exp.Neg, exp.Paren, exp.Case, exp.If, exp.LTE, exp.GT, exp.And,
)  # fmt: skip


def _columns(sql: str) -> Iterator[Token]:
    """The identifiers that do not follow a point: those are fields of what stands before it."""
    before = None
    for token in sqlglot.tokenize(sql, dialect="spark"):
        if token.token_type == TokenType.IDENTIFIER and before != TokenType.DOT:
            yield token
        before = token.token_type
