"""Types as they are written in casts: `CAST(x AS INTEGER)` and `x::TEXT`, of which sqlglot keeps only what they mean.

In: the tokens of a text and its tree. Out: a note at each cast, from which the name of a column is made. Invariant: a
cast without a note is named by its type as sqlglot writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from penstock.model.quick_dataclass import dataclass
from penstock.sql.spark_text import PARSE_ERRORS, Tokens, closing_parenthesis, string_literal

WRITTEN = "written"
"""Key in a cast's meta: its type by the words that were written, as ClickHouse shows it."""

_SECOND_WORDS = {"double": ("precision",), "character": ("varying",), "char": ("varying",)} | dict.fromkeys(
    ("tinyint", "smallint", "int", "integer", "bigint"), ("unsigned", "signed")
)
"""Types of two words, which ClickHouse shows in upper case."""
_OWN_NAMES = re.compile(
    r"U?Int\d+|Float(32|64)|Decimal\d*|String|FixedString|Date(32)?|DateTime(64)?|Enum(8|16)?|UUID|IPv[46]|Bool"
    r"|Nullable|Array|Map|Tuple|LowCardinality"
)
"""The names that types have themselves, with which sqlglot writes them."""


@dataclass(frozen=True, slots=True)
class _WrittenType:
    start: int
    """Where the word before it, AS or `::`, stands in the text."""
    shown: str


def note_written_types(tokens: Tokens, tree: exp.Expr) -> None:
    """Notes at each cast how its type is written, if any has another name of a type."""
    left, others = _types(tokens)
    if not others:
        return
    unplaced: list[exp.Cast] = []
    for cast in reversed(list(tree.find_all(exp.Cast))):  # the inner ones first
        end = max((place for node in cast.this.walk() if (place := node.meta.get("end")) is not None), default=None)
        found = None if end is None else next((each for each in left if each.start > end), None)
        if found is None:
            unplaced.append(cast)
        else:
            left.remove(found)
            cast.meta[WRITTEN] = found.shown
    for cast in unplaced:  # of what has no place: NULL, true, []
        found = next((each for each in left if _means(each.shown, cast)), None)
        if found is not None:
            left.remove(found)
            cast.meta[WRITTEN] = found.shown


def _means(shown: str, cast: exp.Cast) -> bool:
    try:
        return exp.DataType.from_str(shown, dialect="clickhouse") == cast.to
    except PARSE_ERRORS:
        return False


def _types(tokens: Tokens) -> tuple[list[_WrittenType], bool]:
    """The types of all casts, in the order of the text; whether one has a name that is not its own."""
    spans = sorted(span for index in range(len(tokens)) for span in _span_of_type(tokens, index))
    words = (token for start, end in spans for token in tokens[start + 1 : end])
    others = any(each.token_type not in _SIGNS and not _OWN_NAMES.fullmatch(each.text) for each in words)
    return [_WrittenType(tokens[start].start, _shown(tokens[start + 1 : end])) for start, end in spans], others


_SIGNS = frozenset({TokenType.L_PAREN, TokenType.R_PAREN, TokenType.COMMA, TokenType.EQ, TokenType.DASH}) | frozenset(
    {TokenType.NUMBER, TokenType.STRING, TokenType.DOT}
)


def _span_of_type(tokens: Tokens, index: int) -> Iterator[tuple[int, int]]:
    """The index of the word before the type of the cast at `index`, and that behind the type; nothing for no cast."""
    if tokens[index].token_type == TokenType.DCOLON and index + 1 < len(tokens):
        last = index + 1
        if index + 2 < len(tokens) and _is_second(tokens[last], tokens[index + 2]):
            last += 1
        if last + 1 < len(tokens) and tokens[last + 1].token_type == TokenType.L_PAREN:
            last = closing_parenthesis(tokens, last + 1)
        yield index, last + 1
    elif tokens[index].text.lower() == "cast" and tokens[index + 1 : index + 2]:
        end = closing_parenthesis(tokens, index + 1) if tokens[index + 1].token_type == TokenType.L_PAREN else index
        word = _last_as(tokens, index + 1, end)
        if word is not None:
            yield word, end


def _is_second(first: Token, second: Token) -> bool:
    return second.text.lower() in _SECOND_WORDS.get(first.text.lower(), ())


def _last_as(tokens: Tokens, start: int, end: int) -> int | None:
    """The index of the AS that stands directly in the parentheses, and not in others within."""
    depth, found = 0, None
    for index in range(start, end):
        kind = tokens[index].token_type
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        found = index if depth == 1 and kind == TokenType.ALIAS else found
    return found


def _shown(tokens: Tokens) -> str:
    """A type with one blank behind commas and around `=`; its name in upper case if it has two words."""
    if len(tokens) > 1 and _is_second(*tokens[:2]):
        pair = f"{tokens[0].text} {tokens[1].text}".upper()
        return pair + _shown(tokens[2:])
    out: list[str] = []
    for before, token in zip([None, *tokens], tokens, strict=False):
        if before is not None and token.token_type not in _SIGNS and before.token_type not in _SIGNS:
            out.append(" ")
        out.append(_FORMS.get(token.token_type) or _text(token))
    return "".join(out)


_FORMS = {TokenType.COMMA: ", ", TokenType.EQ: " = "}


def _text(token: Token) -> str:
    return string_literal(token.text) if token.token_type == TokenType.STRING else token.text
