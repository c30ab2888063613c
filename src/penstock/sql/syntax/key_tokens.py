"""Parentheses around what sqlglot's ClickHouse parser reads inside of them only.

In: tokens. Out: tokens: `x -> x > 0 ? 1 : 2` with its body in parentheses, `GROUP BY toDate(t) AS d` with its key in
parentheses. Invariant: parentheses change no name and no value.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.spark_text import Tokens

OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.CASE})
CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE, TokenType.END})
_LISTS = frozenset({TokenType.GROUP_BY, TokenType.ORDER_BY})
_ENDS = _LISTS | frozenset(
    {TokenType.HAVING, TokenType.LIMIT, TokenType.WITH, TokenType.SETTINGS, TokenType.UNION, TokenType.EXCEPT}
    | {TokenType.INTERSECT, TokenType.WINDOW, TokenType.QUALIFY, TokenType.SEMICOLON, TokenType.SELECT}
)


def token_like(token: Token, kind: TokenType, text: str) -> Token:
    """A token of another kind and text at the same place."""
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def wrap_choices(tokens: Tokens) -> Tokens:
    """`x -> a ? b : c` → `x -> (a ? b : c)`."""
    bodies = (index + 1 for index, token in enumerate(tokens) if token.token_type == TokenType.ARROW)
    return _wrapped(tokens, (span for start in bodies for span in _choice(tokens, start)))


def _choice(tokens: Tokens, start: int) -> list[tuple[int, int]]:
    """The first and the last token of the body of a lambda, if it is a choice."""
    depth, end, found = 0, start, False
    while end < len(tokens) and (depth or tokens[end].token_type != TokenType.COMMA):
        kind = tokens[end].token_type
        depth += (kind in OPENING) - (kind in CLOSING)
        if depth < 0:
            break
        found = found or (not depth and kind == TokenType.PLACEHOLDER)
        end += 1
    return [(start, end - 1)] if found else []


def wrap_named_keys(tokens: Tokens) -> Tokens:
    """`GROUP BY a + 1 AS b` → `GROUP BY (a + 1 AS b)`; ORDER BY likewise."""
    lists = (index + 1 for index, token in enumerate(tokens) if token.token_type in _LISTS)
    return _wrapped(tokens, (span for start in lists for span in _named_keys(tokens, start)))


def _named_keys(tokens: Tokens, start: int) -> list[tuple[int, int]]:
    """The first and the last token of each key with a name in the list that begins at `start`."""
    spans: list[tuple[int, int]] = []
    depth, at = 0, start
    while at + 1 < len(tokens) and (depth or tokens[at].token_type not in _ENDS):
        kind = tokens[at].token_type
        depth += (kind in OPENING) - (kind in CLOSING)
        if depth < 0:
            break
        if not depth and kind == TokenType.ALIAS:
            spans.append((start, at + 1))
        start = at + 1 if not depth and kind == TokenType.COMMA else start
        at += 1
    return spans


def _wrapped(tokens: Tokens, spans: Iterable[tuple[int, int]]) -> Tokens:
    """Tokens with parentheses around each span."""
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for start, end in spans:
        starts[start] = starts.get(start, 0) + 1
        ends[end] = ends.get(end, 0) + 1
    out: Tokens = []
    for index, token in enumerate(tokens):
        out += [token_like(token, TokenType.L_PAREN, "(")] * starts.get(index, 0)
        out.append(token)
        out += [token_like(token, TokenType.R_PAREN, ")")] * ends.get(index, 0)
    return out
