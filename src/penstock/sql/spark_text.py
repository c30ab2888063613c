"""Spark SQL as text: the only place that quotes, escapes, tokenizes and parses it, and that replaces parts of it.

In: names, values and Spark SQL. Out: Spark SQL, tokens or syntax trees. Tokens and trees come from sqlglot's Spark
dialect; of Spark's own grammar see "Literals" and "Identifiers" in its SQL reference. Invariant: what is replaced is a
whole token, so string literals, comments and other names that contain the same letters stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

import sqlglot
from sqlglot import Dialect, exp
from sqlglot.errors import ParseError, TokenError
from sqlglot.tokens import Token, TokenType

Tokens: TypeAlias = list[Token]

DIALECT = "spark"
"""sqlglot's name for the grammar of all compiled SQL."""

QUOTED = frozenset({TokenType.STRING, TokenType.RAW_STRING, TokenType.HEX_STRING, TokenType.IDENTIFIER})
"""Kinds of tokens whose text is a value or a name that somebody chose, and never a keyword or a function."""

DEEPEST = 300
"""Deeper SQL of users is refused. What is compiled can be much less deep."""
_BRACKETS = {
    TokenType.L_PAREN: TokenType.R_PAREN,
    TokenType.L_BRACKET: TokenType.R_BRACKET,
    TokenType.L_BRACE: TokenType.R_BRACE,
}
_CLOSING = frozenset(_BRACKETS.values())
_NESTED_TYPES = (TokenType.ARRAY, TokenType.MAP, TokenType.STRUCT, TokenType.NULLABLE, TokenType.NESTED, TokenType.LIST)

PARSE_ERRORS = (ParseError, TokenError, TypeError, ValueError, IndexError, AttributeError, RecursionError)
"""What sqlglot raises for a text that is no SQL: its builders of nodes do not check what they get."""

_PLACEHOLDER = re.compile(r"(?<!\w)__(?:new|all)_\w+__(?!\w)")
_ESCAPES = str.maketrans({"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\0": "\\0", "\t": "\\t"})


def quote_identifier(name: str) -> str:
    """A column, table, alias or field name in backquotes; a backquote inside it is doubled."""
    return "`" + name.replace("`", "``") + "`"


def string_literal(text: str) -> str:
    """A text as a STRING literal, with a backslash before what would end or change it."""
    return "'" + text.translate(_ESCAPES) + "'"


def bigint_literal(value: int) -> str:
    """An integer as a BIGINT literal. -2**63 has none: Spark reads the minus sign and 2**63 apart."""
    return f"{value}L"


def double_literal(value: float) -> str:
    """A finite number as a DOUBLE literal."""
    return f"{value}D"


def tokenize_spark(sql: str) -> Tokens:
    """The tokens of Spark SQL, without comments; `token.start` and `token.end` (inclusive) are places in the text.

    Raises sqlglot's TokenError for a string or a quoted name that has no end.
    """
    return sqlglot.tokenize(sql, dialect=DIALECT)


def parse_tree(sql: str) -> exp.Expr | None:
    """The syntax tree of one statement or expression; None where sqlglot does not know the form."""
    try:
        return sqlglot.parse_one(sql, dialect=DIALECT)
    except PARSE_ERRORS:
        return None


def parse_tokens(tokens: Tokens, sql: str) -> exp.Expr | None:
    """The syntax tree of one statement, of which there are the tokens; None where sqlglot does not know the form."""
    try:
        trees = Dialect.get_or_raise(DIALECT).parser().parse(tokens, sql)
    except PARSE_ERRORS:
        return None
    return trees[0] if len(trees) == 1 else None


def first_too_deep(tokens: Sequence[Token]) -> Token | None:
    """The first token below more than DEEPEST brackets, or after as many in a row (`a[1][1]…`); None if there is none.

    sqlglot is compiled to C, where a text that nests without limit overflows the stack, which ends the process.
    """
    open_, rows = [TokenType.L_PAREN], [0]
    before = None
    for token in tokens:
        kind = token.token_type
        if kind in _BRACKETS or (kind == TokenType.LT and before in _NESTED_TYPES):
            rows[-1] = rows[-1] + 1 if before in _CLOSING else 0
            if rows[-1] > DEEPEST or len(open_) > DEEPEST:
                return token
            open_.append(kind)
            rows.append(0)
        elif kind in _CLOSING or (kind == TokenType.GT and open_[-1] == TokenType.LT):
            _close(open_, rows, kind)
        else:
            rows[-1] = 0
        before = kind
    return None


def _close(open_: list[TokenType], rows: list[int], kind: TokenType) -> None:
    """Forget the innermost bracket, and what was open in it if that was taken for the bracket of a type."""
    while kind != TokenType.GT and len(open_) > 1 and open_[-1] == TokenType.LT:
        open_.pop()
        rows.pop()
    if len(open_) > 1:
        open_.pop()
        rows.pop()


def parse_statements(sql: str) -> list[exp.Expr]:
    """The syntax trees of the statements that a user wrote. Raises one of PARSE_ERRORS."""
    return [tree for tree in sqlglot.parse(sql, dialect=DIALECT) if tree is not None]


def token_source(sql: str, token: Token) -> str:
    """A token as it is written in the text that it was read from, with its quotes."""
    return sql[token.start : token.end + 1]


def closing_parenthesis(tokens: Sequence[Token], start: int) -> int:
    """The index of the parenthesis that closes the one at `start`; `len(tokens)` where none does."""
    depth = 0
    for index in range(start, len(tokens)):
        kind = tokens[index].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth == 0:
            return index
    return len(tokens)


def is_call(tokens: Sequence[Token], index: int) -> bool:
    """Whether the token at `index` is a word that a parenthesis follows: a function, a type or a keyword."""
    opened = tokens[index + 1].token_type if index + 1 < len(tokens) else None
    return opened == TokenType.L_PAREN and tokens[index].token_type not in QUOTED


def column_names(sql: str) -> frozenset[str]:
    """The names in backquotes, without those of struct fields."""
    if "`" not in sql:
        return frozenset()  # without sqlglot's Spark dialect, which takes a while to load
    return frozenset(token.text for token in _column_tokens(tokenize_spark(sql)))


def placeholders(sql: str) -> frozenset[str]:
    """The placeholders of tables in a text that may be no valid SQL: also those inside of string literals."""
    return frozenset(_PLACEHOLDER.findall(sql))


def replace_columns(sql: str, values: Mapping[str, str]) -> str:
    """The SQL with each name in backquotes that is a key of `values` replaced by SQL. Fields of structs stay."""
    found = (token for token in _column_tokens(tokenize_spark(sql)) if token.text in values)
    return replace_spans(sql, ((token.start, token.end + 1, values[token.text]) for token in found))


def replace_placeholders(sql: str, values: Mapping[str, str]) -> str:
    """The SQL with each word that is a key of `values` replaced by SQL.

    A key is written as it stands in the SQL: a bare word, or a word in backquotes.
    """
    names = {key.strip("`") for key in values}
    words = ((token, token_source(sql, token)) for token in tokenize_spark(sql) if token.text in names)
    return replace_spans(sql, ((token.start, token.end + 1, values[word]) for token, word in words if word in values))


def replace_calls(sql: str, values: Mapping[str, str]) -> str:
    """The SQL with each call without arguments of a function in `values` (in lower case) replaced by SQL."""
    tokens = tokenize_spark(sql)
    spans = []
    for index, token in enumerate(tokens):
        name = token.text.lower()
        if name in values and is_call(tokens, index) and closing_parenthesis(tokens, index + 1) == index + 2:
            spans.append((token.start, tokens[index + 2].end + 1, values[name]))
    return replace_spans(sql, spans)


def replace_spans(sql: str, spans: Iterable[tuple[int, int, str]]) -> str:
    """The text with new text in the place of each span: start, end (exclusive), text; in order, not overlapping."""
    parts: list[str] = []
    done = 0
    for start, end, text in spans:
        parts += [sql[done:start], text]
        done = end
    return "".join(parts) + sql[done:]


def _column_tokens(tokens: Sequence[Token]) -> Iterator[Token]:
    """Names in backquotes that do not follow a dot: what follows one is a field of what stands before it."""
    before = None
    for token in tokens:
        if token.token_type == TokenType.IDENTIFIER and before != TokenType.DOT:
            yield token
        before = token.token_type
