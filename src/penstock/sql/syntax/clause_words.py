"""Columns that are called as a clause is: `limit`, `settings`, `where`, `from`.

In: tokens as they are written. Out: the same, each such word a name where ClickHouse reads one: behind what a value
must follow, and before what no clause begins with. Invariant: only the kinds of tokens change.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import TokenType

from penstock.sql.spark_text import Tokens
from penstock.sql.syntax.key_tokens import token_like

OPERAND_FOLLOWS = frozenset(
    {
        *(TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE, TokenType.COMMA, TokenType.COLON),
        *(TokenType.SELECT, TokenType.DISTINCT, TokenType.WHERE, TokenType.PREWHERE, TokenType.HAVING),
        *(TokenType.QUALIFY, TokenType.ON, TokenType.USING, TokenType.GROUP_BY, TokenType.ORDER_BY),
        *(TokenType.PARTITION_BY, TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.XOR, TokenType.IN),
        *(TokenType.BETWEEN, TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.LIKE),
        *(TokenType.ILIKE, TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.GT, TokenType.LTE, TokenType.GTE),
        *(TokenType.PLACEHOLDER, TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.MOD),
        *(TokenType.DIV, TokenType.DPIPE, TokenType.ARROW),
    }
)
"""Tokens behind which no clause begins, because a value is missing."""
_NAME_FOLLOWS = frozenset({TokenType.DOT, TokenType.ALIAS})
_TABLE_FOLLOWS = frozenset({TokenType.FROM, TokenType.JOIN, TokenType.WITH})
"""Tokens behind which a table is named, or a SELECT by WITH."""
_BY = "by"
"""The last word of LIMIT … BY."""
_BEFORE_BY = frozenset({TokenType.NUMBER, TokenType.R_BRACE})
"""What LIMIT … BY ends its count with; a column may be called `by`, too."""
_FILTER = "filter"
"""The word before `(WHERE …)`."""

_ENDS_OF_NAMES = frozenset(
    {
        *(TokenType.COMMA, TokenType.FROM, TokenType.ALIAS, TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.GT),
        *(TokenType.LTE, TokenType.GTE, TokenType.PLUS, TokenType.SLASH, TokenType.MOD, TokenType.DPIPE),
        *(TokenType.DCOLON, TokenType.ARROW, TokenType.IS, TokenType.IN, TokenType.LIKE, TokenType.ILIKE),
        *(TokenType.BETWEEN, TokenType.AND, TokenType.OR, TokenType.ASC, TokenType.DESC),
    }
)
"""Tokens that follow the name of a column, and begin no value or list."""
_INSIDE_CHOICES = frozenset(
    {TokenType.THEN, TokenType.ELSE, TokenType.END, TokenType.WHEN, TokenType.PLACEHOLDER, TokenType.COLON}
)
"""What follows a name inside of CASE or `a ? b : c`."""
_ENDS_OF_TEXTS = frozenset({TokenType.R_PAREN, TokenType.SEMICOLON, None})
"""What also follows a name at the end of a query."""
_ENDS_BEHIND_WORDS = frozenset(
    {
        *(*_ENDS_OF_NAMES, *_ENDS_OF_TEXTS, TokenType.R_BRACKET, TokenType.DASH, TokenType.STAR, TokenType.L_BRACKET),
        *(*_INSIDE_CHOICES, TokenType.DOT, TokenType.NOT, TokenType.WHERE, TokenType.PREWHERE),
        *(TokenType.GROUP_BY, TokenType.HAVING),
        *(TokenType.ORDER_BY, TokenType.LIMIT, TokenType.OFFSET, TokenType.SETTINGS, TokenType.UNION),
        *(TokenType.WITH, TokenType.QUALIFY, TokenType.WINDOW, TokenType.ON, TokenType.USING, TokenType.JOIN),
    }
)
"""What follows a name, and no word that a clause begins with."""

_WORDS: dict[TokenType, frozenset[TokenType | None]] = {
    **dict.fromkeys(
        (
            *(TokenType.LIMIT, TokenType.OFFSET, TokenType.FETCH, TokenType.SETTINGS, TokenType.WHERE),
            *(TokenType.PREWHERE, TokenType.HAVING, TokenType.QUALIFY, TokenType.WINDOW, TokenType.TABLE_SAMPLE),
            *(TokenType.UNION, TokenType.INTERSECT, TokenType.EXCEPT, TokenType.JOIN, TokenType.ON),
            *(TokenType.USING, TokenType.INTO, TokenType.GLOBAL, TokenType.DIV, TokenType.WHEN, TokenType.THEN),
            *(TokenType.ELSE, TokenType.INNER, TokenType.OUTER, TokenType.CROSS, TokenType.CREATE, TokenType.INSERT),
            TokenType.BETWEEN,
        ),
        _ENDS_BEHIND_WORDS,
    ),
    TokenType.FROM: _ENDS_OF_NAMES | _INSIDE_CHOICES,
    **dict.fromkeys(
        (TokenType.SELECT, TokenType.WITH, TokenType.DISTINCT, TokenType.AND, TokenType.OR),
        _ENDS_OF_NAMES | _ENDS_OF_TEXTS,
    ),
}
"""The words that a clause or a query begins with, and what follows them where they are names."""
_BEGIN_QUERIES = frozenset({TokenType.SELECT, TokenType.WITH, TokenType.DISTINCT, TokenType.FROM})

_NO_TABLES = _BEGIN_QUERIES | {TokenType.WHERE, TokenType.PREWHERE, TokenType.HAVING}
"""Words before which a FROM of nothing is more likely than a table of their name."""


def name_clause_words(tokens: Tokens) -> Tokens:
    """Tokens in which `limit` and its like are names, where they are names of columns or tables."""
    if not any(each.token_type in _WORDS for each in tokens):
        return tokens
    out: Tokens = []
    for index, token in enumerate(tokens):
        ends = _WORDS.get(token.token_type)
        following = tokens[index + 1].token_type if index + 1 < len(tokens) else None
        is_name = ends is not None and following in ends and _value_is_missing(out, token.token_type)
        out.append(token_like(token, TokenType.VAR, token.text) if is_name else token)
    return out


def _value_is_missing(before: Tokens, word: TokenType) -> bool:
    """Whether a value, and for most words a table, must stand behind these tokens."""
    kinds = [None, None, *(each.token_type for each in before[-2:])][-2:]
    match kinds:
        case [earlier, TokenType.STAR]:
            return earlier not in OPERAND_FOLLOWS and earlier not in (None, TokenType.DOT)
        case [earlier, TokenType.NOT]:  # behind a value it is of NOT BETWEEN
            return earlier is None or earlier in OPERAND_FOLLOWS or earlier == TokenType.WITH
        case [earlier, TokenType.DISTINCT]:
            return earlier in (TokenType.SELECT, TokenType.L_PAREN)
        case [_, TokenType.L_PAREN]:
            filters = word == TokenType.WHERE and len(before) > 1 and before[-2].text.lower() == _FILTER
            return word not in _BEGIN_QUERIES and not filters
        case [_, TokenType.CASE]:
            return word != TokenType.WHEN
        case [_, last] if last in OPERAND_FOLLOWS:
            return not (last == TokenType.SELECT and word == TokenType.DISTINCT)
        case [earlier, last]:
            is_by = bool(before) and before[-1].text.lower() == _BY and earlier in _BEFORE_BY
            named = last in _NAME_FOLLOWS or is_by
            return named or (last in _TABLE_FOLLOWS and word not in _NO_TABLES)
    return False
