"""Literals before `::` as the texts that they are written with: `1.15::T` is `'1.15'::T`, as ClickHouse reads it.

In: the tokens of a text. Out: tokens in which a number, an array or tuple of literals, and one literal in parentheses
are a string literal where `::` follows. Invariant: the string holds exactly what is written, with blanks and the sign.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.spark_text import Tokens

_NUMBERS = frozenset({TokenType.NUMBER, TokenType.HEX_STRING, TokenType.BIT_STRING})
_OPENING = frozenset({TokenType.L_BRACKET, TokenType.L_PAREN})
_CLOSING = {TokenType.R_BRACKET: TokenType.L_BRACKET, TokenType.R_PAREN: TokenType.L_PAREN}
_BEFORE_OPERANDS = frozenset(
    {None, TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA, *_OPENING, TokenType.COLON, TokenType.PLACEHOLDER}
    | {TokenType.PLUS, TokenType.DASH, TokenType.STAR, TokenType.SLASH, TokenType.DIV, TokenType.MOD, TokenType.DPIPE}
    | {TokenType.EQ, TokenType.NEQ, TokenType.LT, TokenType.LTE, TokenType.GT, TokenType.GTE, TokenType.NULLSAFE_EQ}
    | {TokenType.AND, TokenType.OR, TokenType.NOT, TokenType.BETWEEN, TokenType.IN, TokenType.LIKE, TokenType.ILIKE}
    | {TokenType.CASE, TokenType.WHEN, TokenType.THEN, TokenType.ELSE, TokenType.INTERVAL, TokenType.ARROW}
    | {TokenType.WITH, TokenType.WHERE, TokenType.PREWHERE, TokenType.HAVING, TokenType.QUALIFY, TokenType.ON}
    | {TokenType.LIMIT, TokenType.OFFSET, TokenType.GROUP_BY, TokenType.ORDER_BY, TokenType.PARTITION_BY}
)
"""Tokens behind which a sign belongs to the number and a bracket opens a literal."""

_FLOAT_WORDS = ("inf", "infinity", "nan")


def quote_cast_literals(tokens: Tokens, text: str) -> Tokens:
    """The tokens of a text, with each literal before `::` as a string."""
    out: Tokens = []
    for token in tokens:
        if token.token_type == TokenType.DCOLON and _ends_negative_word(out):
            dash, word = out[-2:]
            opening = Token(TokenType.L_PAREN, "(", dash.line, dash.col, dash.start, dash.end, [])
            closing = Token(TokenType.R_PAREN, ")", word.line, word.col, word.start, word.end, [])
            out[-2:] = [opening, dash, word, closing]
        start = _literal_start(out) if token.token_type == TokenType.DCOLON else None
        if start is not None:
            first, last = out[start], out[-1]
            written = text[first.start : last.end + 1]
            del out[start:]
            out.append(Token(TokenType.STRING, written, first.line, first.col, first.start, last.end, first.comments))
        out.append(token)
    return out


def _ends_negative_word(tokens: Tokens) -> bool:
    """Whether the tokens end with -inf or -nan, of which `::` takes the sign as well."""
    is_word = _kind(tokens, len(tokens) - 1) == TokenType.VAR and tokens[-1].text.lower() in _FLOAT_WORDS
    return (
        is_word
        and _kind(tokens, len(tokens) - 2) == TokenType.DASH
        and _kind(tokens, len(tokens) - 3) in _BEFORE_OPERANDS
    )


def _kind(tokens: Tokens, index: int) -> TokenType | None:
    return tokens[index].token_type if index >= 0 else None


def _literal_start(tokens: Tokens) -> int | None:
    """Where the literal begins that the last token ends; None if that is no literal, or one that stays as it is."""
    last = len(tokens) - 1
    if _kind(tokens, last) in _CLOSING:
        start = _bracket_start(tokens, last)
        return start if start is not None and _kind(tokens, start - 1) in _BEFORE_OPERANDS else None
    if _kind(tokens, last) not in _NUMBERS or _kind(tokens, last - 1) == TokenType.DOT:
        return None
    has_sign = _kind(tokens, last - 1) in (TokenType.DASH, TokenType.PLUS)
    if not has_sign or _kind(tokens, last - 2) not in _BEFORE_OPERANDS:
        return last
    return last - 1 if _kind(tokens, last - 1) == TokenType.DASH else None  # with a plus it stays a number


def _bracket_start(tokens: Tokens, last: int) -> int | None:
    """The bracket that the last token closes; None unless literals, signs and commas are all that stands between."""
    open_brackets: list[TokenType] = []
    following: TokenType | None = None
    for index in range(last, -1, -1):
        kind = tokens[index].token_type
        if kind in _CLOSING:
            if following not in (None, TokenType.COMMA, *_CLOSING):
                return None
            open_brackets.append(_CLOSING[kind])
        elif kind in _OPENING:
            if following == TokenType.COMMA or open_brackets.pop() != kind:
                return None
            if not open_brackets:
                return index
        elif not _may_precede(kind, following):
            return None
        following = kind
    return None


def _may_precede(kind: TokenType, following: TokenType | None) -> bool:
    """Whether a comma, a sign or a literal inside of brackets may stand before a token."""
    if kind == TokenType.COMMA:
        return following != TokenType.COMMA and following not in _CLOSING
    if kind == TokenType.DASH:
        return following in _NUMBERS
    return (kind in _NUMBERS or kind == TokenType.STRING) and (following == TokenType.COMMA or following in _CLOSING)
