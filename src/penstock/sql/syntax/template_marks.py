"""Marks of a template in SQL that is none: its author forgot the `%` with which a template begins.

In: SQL. Out: the offset of its first `{{` or `{%` outside quotes and comments. Invariant: SQL that ClickHouse takes has
neither.
"""

from __future__ import annotations

from itertools import pairwise

from sqlglot import tokenize
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import TokenType


def find_template_mark(text: str) -> int | None:
    """Where the first mark begins; None if there is none, or if the text cannot be divided into tokens."""
    if "{{" not in text and "{%" not in text:
        return None
    try:
        tokens = tokenize(text, read="clickhouse")
    except SqlglotError:
        return None
    for token, following in pairwise(tokens):
        is_doubled = token.token_type == following.token_type == TokenType.L_BRACE
        if token.token_type == TokenType.BLOCK_START or (is_doubled and following.start == token.start + 1):
            return token.start
    return None
