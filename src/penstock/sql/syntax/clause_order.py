"""The order of the clauses of a SELECT, which sqlglot takes in any order.

In: the text and its tokens as they are written. Out: nothing, or a problem at the first clause that stands too late, as
ClickHouse refuses it. Invariant: what stands in brackets has an order of its own.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from penstock.errors import Problem
from penstock.model.datasource import Text
from penstock.sql.spark_text import Tokens
from penstock.sql.syntax.clause_words import OPERAND_FOLLOWS
from penstock.sql.syntax.problems import Refused, place_of

_ORDER = (
    TokenType.JOIN,
    TokenType.PREWHERE,
    TokenType.WHERE,
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.WINDOW,
    TokenType.QUALIFY,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
    TokenType.OFFSET,
    TokenType.FETCH,
    TokenType.SETTINGS,
)
_PLACES = {kind: place for place, kind in enumerate(_ORDER)}
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})
_NEXT_SELECT = frozenset({TokenType.UNION, TokenType.EXCEPT, TokenType.INTERSECT, TokenType.SEMICOLON})
_BEFORE_A_NAME = OPERAND_FOLLOWS | {TokenType.DOT, TokenType.ALIAS, TokenType.INTERVAL, TokenType.IS}
"""A word behind one of these is the name of a column, such as `limit`: no clause begins where a value is missing."""


def refuse_clauses_out_of_order(text: Text, tokens: Tokens) -> None:
    """Raises Refused for a clause that stands behind one that it must precede, and for a SELECT behind any."""
    last: list[int | None] = [None]
    for index, token in enumerate(tokens):
        kind = token.token_type
        if kind in _OPENING:
            last.append(None)
        elif kind in _CLOSING and len(last) > 1:
            last.pop()
        elif kind in _NEXT_SELECT:
            last[-1] = None
        elif kind == TokenType.SELECT:
            _check_order(text, tokens, last[-1], index)
            last[-1] = None
        elif _is_clause(tokens, last[-1], index):
            _check_order(text, tokens, last[-1], index)
            last[-1] = index


def _is_clause(tokens: Tokens, before: int | None, index: int) -> bool:
    """Whether a word begins a clause: some may be names of columns or settings, and OFFSET belongs to a LIMIT or SAMPLE
    before it."""
    kind = tokens[index].token_type
    if kind not in _PLACES or (index and tokens[index - 1].token_type in _BEFORE_A_NAME):
        return False
    following = tokens[index + 1].token_type if index + 1 < len(tokens) else None
    behind = tokens[index + 2].token_type if index + 2 < len(tokens) else None
    match kind:
        case TokenType.WINDOW:
            return following == TokenType.VAR and behind == TokenType.ALIAS
        case TokenType.SETTINGS:
            return behind == TokenType.EQ
        case TokenType.OFFSET:
            limited = before is not None and tokens[before].token_type == TokenType.LIMIT
            sampled = any(each.token_type == TokenType.TABLE_SAMPLE for each in tokens[max(0, index - 4) : index])
            return following == TokenType.NUMBER and not limited and not sampled
        case _:
            return following != TokenType.EQ


def _check_order(text: Text, tokens: Tokens, before: int | None, index: int) -> None:
    """Raises Refused for a clause behind one that it must precede. Only LIMIT … BY may precede another LIMIT."""
    if before is None:
        return
    token, earlier = tokens[index], tokens[before]
    twice = token.token_type == earlier.token_type == TokenType.LIMIT
    if twice and not any(each.text.lower() == "by" for each in tokens[before:index]):
        hint = "LIMIT … BY stands before LIMIT; a second LIMIT needs a SELECT around"
        raise Refused(Problem("invalid-sql", "LIMIT stands behind LIMIT", place_of(text, token.start), hint))
    if _PLACES.get(token.token_type, -1) < _PLACES[earlier.token_type]:
        late, early = earlier.text.upper(), token.text.upper()
        message = f"{early} stands behind {late}"
        raise Refused(Problem("invalid-sql", message, place_of(text, token.start), f"write {early} before {late}"))
