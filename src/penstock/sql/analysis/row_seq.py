"""A view's SQL with one more column: the `_seq` of the row that each of its rows was made from.

In: the compiled SQL of a materialized node and its trigger's placeholder. Out: the SQL with `_seq` added, or None where
a row of the view is not made from one row of the trigger: rows are grouped, made distinct or united. Rows of one step
keep the order of insertion by it, which decides what ReplacingMergeTree and CollapsingMergeTree show. Invariant: text
is only added; where the shape of the SQL is not known for certain the answer is None.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from sqlglot.tokens import Token, TokenType

from penstock.model.quick_dataclass import dataclass
from penstock.sql.spark_text import QUOTED, closing_parenthesis, replace_spans, token_source, tokenize_spark

SEQ = "_seq"
_MANY_TO_ONE = frozenset(["GROUP", "HAVING", "UNION", "INTERSECT", "EXCEPT", "MINUS", "DISTINCT", "WITH", "PIVOT"])
_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET)


@dataclass(frozen=True, slots=True)
class _Addition:
    """Where `_seq` is added to a select list."""

    place: int
    """The place of the FROM before which it is added."""
    relation: str
    """The relation whose `_seq` it is."""


@lru_cache(maxsize=1024)
def with_row_seq(sql: str, trigger: str) -> str | None:
    """`sql` with `_seq` as its last column, to be run over a relation for `trigger` that has `_seq`."""
    additions = _additions(sql, tokenize_spark(sql), trigger)
    if additions is None:
        return None
    in_order = sorted(additions, key=lambda addition: addition.place)
    return replace_spans(
        sql, ((len(sql[: each.place].rstrip()), each.place, f", {each.relation}.{SEQ} ") for each in in_order)
    )


def _additions(sql: str, tokens: Sequence[Token], trigger: str) -> list[_Addition] | None:
    """One for each SELECT from the outermost down to the one that reads the trigger."""
    place = _place_of_from(tokens)
    if place is None or place + 1 >= len(tokens):
        return None
    source = tokens[place + 1]
    if token_source(sql, source) == trigger:
        alias = _alias(sql, tokens, place + 2)
        return [_Addition(tokens[place].start, alias)] if alias is not None else None
    if source.text != "(" or source.token_type in QUOTED:
        return None
    end = closing_parenthesis(tokens, place + 1)
    inner = _additions(sql, tokens[place + 2 : end], trigger)
    alias = _alias(sql, tokens, end + 1)
    return [_Addition(tokens[place].start, alias), *inner] if inner is not None and alias is not None else None


def _place_of_from(tokens: Sequence[Token]) -> int | None:
    """The index of the FROM of a SELECT that makes each of its rows from one row; None for any other."""
    if not tokens or _keyword(tokens[0]) != "SELECT":
        return None
    depth, found = 0, None
    for index, token in enumerate(tokens):
        kind = token.token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        word = _keyword(token) if depth == 0 else ""
        if word in _MANY_TO_ONE:
            return None
        if word == "FROM" and found is None:
            found = index
    return found


def _keyword(token: Token) -> str:
    """The first word of a token (sqlglot reads GROUP BY as one) in upper case; '' for a name or a literal in quotes."""
    return "" if token.token_type in QUOTED else next(iter(token.text.upper().split()), "")


def _alias(sql: str, tokens: Sequence[Token], index: int) -> str | None:
    """The alias that is written at `index`, with its quotes: ``AS `x` `` or ``AS x``."""
    if index + 1 >= len(tokens) or _keyword(tokens[index]) != "AS":
        return None
    return token_source(sql, tokens[index + 1])
