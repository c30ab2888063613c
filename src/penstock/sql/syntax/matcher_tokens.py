"""Matchers of columns that sqlglot does not parse, as calls: `COLUMNS(a, b)`, `* APPLY(x -> x + 1)`.

In: tokens in which calls are marked. Out: tokens in which such a matcher is `matcher(*, …)`: first `*` or `table.*`,
then the text or `columns(…)` of COLUMNS, then `except(…)`, `replace(…)` and `apply(…)` in their order.
Invariant: a matcher that sqlglot parses stays as it is.
"""

from __future__ import annotations

from sqlglot.tokenizer_core import Token, TokenType

from penstock.sql.spark_text import Tokens, closing_parenthesis

MATCHER = "matcher"
"""The name of the call that stands for a matcher."""
_MARK = "@"
"""As in the module `tokens`, which imports this one."""
_WORDS = ("except", "replace", "apply")
_STARTS = frozenset({TokenType.SELECT, TokenType.DISTINCT, TokenType.COMMA})


def rewrite_matchers(tokens: Tokens) -> Tokens:
    """`* APPLY(x -> x + 1)` → `matcher(*, apply(x -> x + 1))`, and likewise for the other forms."""
    out: Tokens = []
    index = 0
    while index < len(tokens):
        found = _matcher_at(tokens, index) if index == 0 or tokens[index - 1].token_type in _STARTS else None
        if found is None:
            out.append(tokens[index])
            index += 1
        else:
            rewritten, index = found
            out += rewritten
    return out


def _matcher_at(tokens: Tokens, start: int) -> tuple[Tokens, int] | None:
    """The matcher that begins at `start` as a call, and the index behind it; None if sqlglot parses what is there."""
    first = start + 2 if _kind(tokens, start + 1) == TokenType.DOT else start
    table = tokens[start:first]
    if _kind(tokens, first) == TokenType.STAR:
        given, index, plain = [], first + 1, True
        star = [*table, tokens[first]]
    elif _word(tokens, first) == "columns" and _kind(tokens, first + 1) == TokenType.L_PAREN:
        index = closing_parenthesis(tokens, first + 1) + 1
        inner = tokens[first + 2 : index - 1]
        plain = len(inner) == 1 and inner[0].token_type == TokenType.STRING
        given = inner if plain else _call(tokens[first], "columns", inner)
        star = [*table, _like(tokens[first], TokenType.STAR, "*")]
        plain = plain and _word(tokens, index) not in ("except", "replace")
    else:
        return None
    parts = [star, *([given] if given else [])]
    last = 0
    while index < len(tokens) and _word(tokens, index) in _WORDS:
        place = _WORDS.index(_word(tokens, index))
        part, index, is_plain = _transformer(tokens, index)
        plain, last = plain and is_plain and place >= last, place
        parts.append(part)
    if plain or index > len(tokens):
        return None
    comma = _like(tokens[start], TokenType.COMMA, ",")
    joined = [each for part in parts for each in (comma, *part)][1:]
    return _call(tokens[start], MATCHER, joined), index


def _transformer(tokens: Tokens, index: int) -> tuple[Tokens, int, bool]:
    """EXCEPT, REPLACE or APPLY as a call, the index behind it, and whether sqlglot parses it."""
    word, opening = tokens[index], index + 1
    name = word.text.lower()
    if _kind(tokens, opening) != TokenType.L_PAREN:  # a name, a text or the name of a function alone
        inner, end = tokens[opening : opening + 1], opening
    else:
        end = closing_parenthesis(tokens, opening)
        inner = tokens[opening + 1 : end]
    plain = not any(each.token_type == TokenType.STRING for each in inner) if name == "except" else True
    if name == "apply":
        plain = len(inner) == 1 and end > opening
        if len(inner) > 1 and _kind(inner, 1) == TokenType.L_PAREN and closing_parenthesis(inner, 1) == len(inner) - 1:
            quoted = _like(inner[0], TokenType.STRING, inner[0].text.removesuffix(_MARK))
            comma = [_like(word, TokenType.COMMA, ",")] if len(inner) > 3 else []
            inner = [quoted, *comma, *inner[2:-1]]
        elif len(inner) == 1:
            inner = [_like(inner[0], TokenType.STRING, inner[0].text)]
    return _call(word, name, inner), end + 1, plain


def _call(place: Token, name: str, inner: Tokens) -> Tokens:
    opening, closing = _like(place, TokenType.L_PAREN, "("), _like(place, TokenType.R_PAREN, ")")
    return [_like(place, TokenType.VAR, name + _MARK), opening, *inner, closing]


def _like(token: Token, kind: TokenType, text: str) -> Token:
    return Token(kind, text, token.line, token.col, token.start, token.end, token.comments)


def _kind(tokens: Tokens, index: int) -> TokenType | None:
    return tokens[index].token_type if 0 <= index < len(tokens) else None


def _word(tokens: Tokens, index: int) -> str:
    is_word = index < len(tokens) and tokens[index].token_type not in (TokenType.STRING, TokenType.IDENTIFIER)
    return tokens[index].text.lower().removesuffix(_MARK) if is_word else ""
