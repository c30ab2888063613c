"""The lexer of the small grammars in a datafile (types, schemas, keys), and the file location of each offset.

In: any text. Out: `Lexeme`s, a `Reader` over them, and `Location`s of offsets in a `Text`. Invariants: `lex` takes
every text, and a syntax error is an `InvalidSyntax` of the reader with the offset of the first wrong character; an
offset in a part of a `Text` leads to the same location as in the whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from penstock.errors import Location, Problem
from penstock.model.datasource import Text

LexemeKind = Literal["word", "quoted", "string", "number", "symbol", "end"]
LexemeTexts: TypeAlias = tuple[tuple[LexemeKind, str], ...]
"""Lexemes without their offsets: equal wherever they stand, so that their meaning can be cached."""

MAX_DEPTH = 50
"""The deepest nesting of brackets: more than anybody writes, and safe for recursion."""

# A string, name or comment without its end takes the rest of the text, so that no part of it is read twice.
_LEXEME = re.compile(
    r"""
      (?P<space>\s+ | --[^\n]* | \#(?=[!\s]|$)[^\n]* | /\*.*?\*/)
    | (?P<string>'(?:[^'\\]|\\.|'')*')
    | (?P<quoted>`(?:[^`\\]|\\.|``)*` | "(?:[^"\\]|\\.|"")*")
    | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    | (?P<word>[^\W\d]\w*)
    | (?P<symbol>/\*.* | ['`"].* | .)
    """,
    re.VERBOSE | re.DOTALL,
)
# What `comma_spans` searches: strings and comments, in which a comma does not count, and the symbols themselves.
_BRACKET_OR_COMMA = re.compile(
    r"""
      --[^\n]* | \#(?=[!\s]|$)[^\n]* | /\*.*?\*/
    | '(?:[^'\\]|\\.|'')*'
    | `(?:[^`\\]|\\.|``)*` | "(?:[^"\\]|\\.|"")*"
    | /\*.* | ['`"].*
    | ([()\[\]{},])\s*
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(.)|(['`\"])\2", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f"}
_OPENING, _CLOSING = "([{", ")]}"


class InvalidSyntax(ValueError):
    """A text that does not fit its grammar: what was expected, at which offset, and a hint."""

    code = "invalid-syntax"

    def __init__(self, message: str, offset: int, hint: str | None = None):
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint


class Lexeme(NamedTuple):
    """A word, a quoted name, a string, a number or one other character, as written. It is a NamedTuple because a big
    project has millions of them, and a tuple is made in half the time of a dataclass."""

    kind: LexemeKind
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)

    @property
    def value(self) -> str:
        """The text without its quotes and escapes."""
        if self.kind not in ("string", "quoted"):
            return self.text
        return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]) if found[1] else found[2], self.text[1:-1])

    def says(self, word: str) -> bool:
        """Whether this is the given word (in any case) or symbol."""
        if self.kind == "symbol":
            return self.text == word
        return self.kind == "word" and self.text.upper() == word.upper()

    def __str__(self) -> str:
        return f"`{self.text}`" if self.text else "the end"


def lex(text: str) -> tuple[Lexeme, ...]:
    """The lexemes of a text, without spaces and comments, followed by an end lexeme."""
    found = (
        Lexeme(match.lastgroup, match.group() if match.lastgroup != "symbol" else match[0][0], match.start())  # type: ignore[arg-type]
        for match in _LEXEME.finditer(text)
        if match.lastgroup != "space"
    )
    return (*found, Lexeme("end", "", len(text)))


class Reader:
    """Reads lexemes one after the other; the last one is an end."""

    def __init__(self, lexemes: Sequence[Lexeme]):
        _refuse_depth(lexemes)
        self._lexemes = lexemes
        self._next = 0

    def peek(self, ahead: int = 0) -> Lexeme:
        if not ahead:
            return self._lexemes[self._next]  # never behind the end, which is not taken
        return self._lexemes[min(self._next + ahead, len(self._lexemes) - 1)]

    def take(self) -> Lexeme:
        found = self._lexemes[self._next]
        self._next += found.kind != "end"
        return found

    def accept(self, word: str) -> bool:
        """Read the given word or symbol if it comes next."""
        found = self.peek().says(word)
        if found:
            self.take()
        return found

    def expect(self, word: str) -> Lexeme:
        """Read the given word or symbol. Raises InvalidSyntax if something else comes next."""
        if not self.peek().says(word):
            raise self.unexpected(f"`{word}`")
        return self.take()

    def until_close(self) -> tuple[Lexeme, ...]:
        """Read up to the bracket that closes the one just read; the bracket is read and not returned."""
        inner: list[Lexeme] = []
        depth = 1
        while self.peek().kind != "end":
            found = self.take()
            depth += depth_change(found)
            if depth == 0:
                return tuple(inner)
            inner.append(found)
        raise self.unexpected("`)`")

    def call(self) -> LexemeTexts:
        """The next lexeme and the brackets after it, without reading them; () if the brackets do not close."""
        if not self.peek(1).says("("):
            return (self.peek()[:2],)
        depth = 0
        for at in range(self._next + 1, len(self._lexemes)):
            depth += depth_change(self._lexemes[at])
            if depth == 0:
                return tuple([lexeme[:2] for lexeme in self._lexemes[self._next : at + 1]])
        return ()

    def skip(self, lexemes: int) -> None:
        """Read the given number of lexemes; none of them may be the end."""
        self._next += lexemes

    def finish(self) -> None:
        """Raises InvalidSyntax unless everything was read."""
        if self.peek().kind != "end":
            raise self.unexpected("nothing more")

    def unexpected(self, wanted: str, hint: str | None = None) -> InvalidSyntax:
        """The error for the lexeme that comes next."""
        found = self.peek()
        return InvalidSyntax(f"expected {wanted}, found {found}", found.start, hint or quote_hint(found))


def reader_of_words(words: LexemeTexts) -> Reader:
    """A reader of lexemes without offsets, for text that is known to be correct."""
    return Reader([*(Lexeme(kind, text, 0) for kind, text in words), Lexeme("end", "", 0)])


def split_at_commas(lexemes: Sequence[Lexeme]) -> Iterator[tuple[Lexeme, ...]]:
    """The parts between commas outside brackets, each followed by an end lexeme of its own. An empty text has no parts,
    and a comma may follow the last part."""
    part: list[Lexeme] = []
    depth = 0
    for lexeme in lexemes:
        kind = lexeme.kind
        if kind == "symbol":
            depth = max(0, depth + depth_change(lexeme))
            if depth == 0 and lexeme.text == ",":
                yield (*part, Lexeme("end", ",", lexeme.start))
                part = []
                continue
        if kind != "end":
            part.append(lexeme)
        elif part:
            yield (*part, lexeme)


def comma_spans(text: str) -> Iterator[tuple[int, int]]:
    """The start and end of each part that `split_at_commas` gives, with the comma that ends it and without the spaces
    before it; found without making lexemes. The text after the last comma is a part."""
    start, depth = len(text) - len(text.lstrip()), 0
    for found in _BRACKET_OR_COMMA.finditer(text):
        symbol = found[1]
        if symbol is None:
            continue
        if symbol in _OPENING:
            depth += 1
        elif symbol in _CLOSING:
            depth = max(0, depth - 1)
        elif depth == 0:
            yield start, found.end(1)
            start = found.end()
    yield start, len(text)


def quote_hint(lexeme: Lexeme) -> str | None:
    """The hint for an unclosed quote; None for any other lexeme."""
    return "this quote is not closed" if lexeme.kind == "symbol" and lexeme.text in "'`\"" else None


def depth_change(lexeme: Lexeme) -> int:
    """How a lexeme changes the nesting of brackets: 1, 0 or -1."""
    if lexeme.kind != "symbol":
        return 0
    return (lexeme.text in _OPENING) - (lexeme.text in _CLOSING)


def _refuse_depth(lexemes: Sequence[Lexeme]) -> None:
    depth = 0
    for lexeme in lexemes:
        if lexeme.kind != "symbol":
            continue
        depth += depth_change(lexeme)
        if depth > MAX_DEPTH:
            raise InvalidSyntax(f"more than {MAX_DEPTH} brackets inside each other", lexeme.start)


def location_at(text: Text, offset: int) -> Location:
    """The location in the file of the character at `offset`."""
    before = text.text[:offset]
    return text.at(before.count("\n") + 1, offset - before.rfind("\n"))


def text_slice(text: Text, start: int, end: int) -> Text:
    """The characters from `start` up to `end` as a text of its own, without spaces around them."""
    cut = text.text[start:end]
    start += len(cut) - len(cut.lstrip())
    return Text(cut.strip(), location_at(text, start), text.indent)


def problem_at(error: InvalidSyntax, text: Text) -> Problem:
    """The problem of an error whose offset is one of `text`."""
    return Problem(error.code, error.message, location_at(text, error.offset), error.hint)
