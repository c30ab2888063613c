"""Splits a datafile into its directives: `KEYWORD value`, or `KEYWORD >` and a block.

In: a file's text and the keywords of its kind. Out: a `Datafile`, each value with its location. Invariants: each line
belongs to one entry, to a comment or to a problem; a value's `Text` leads back to the line and column of the file. A
block ends where the format's own parser ends it: at the next line that begins with a keyword and is not indented
further than the directive, so that SQL at the left margin is SQL.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from sqlglot.dialects.clickhouse import ClickHouse

from penstock.errors import Location, Problem, nearest_name
from penstock.model.datasource import Text
from penstock.model.quick_dataclass import dataclass
from penstock.parse.lexer import location_at

_SQL_KEYWORDS = ("SQL", "FORWARD_QUERY")
_BLOCKS = ("SCHEMA", "RETURNS", "PYTHON", *_SQL_KEYWORDS)
"""Directives whose value mostly is a block."""
PROSE = ("DESCRIPTION", "PYTHON")
"""Directives in whose block an indented line that begins with # is no comment: it is a heading in Markdown, or one of
Python's own, which may be within a text."""
_SQL_WORDS = frozenset(str(words).split()[0] for words in ClickHouse.Tokenizer.KEYWORDS if str(words)[:1].isalpha())
_DIRECTIVE = re.compile(r"(?P<indent>\s*)(?P<keyword>[^\s>]+|\S+?)(?P<space>\s*)(?P<value>.*)", re.DOTALL)
_BLOCK_SIGN = re.compile(r">(?:\s+(?P<first>.*))?", re.DOTALL)
"""The `>` before a block; people begin the block in the same line, too."""
_WRITTEN_AS_KEYWORD = re.compile(r"[A-Z][A-Z_]+")
_ONE_VALUE = re.compile(r"""\s*(?:>|[\w@-]+|"[^"]*"|'[^']*')\s*""")
_WANTS_MORE = re.compile(
    r"select|distinct|from|where|prewhere|having|and|or|not|xor|join|on|using|as|by|in|i?like|between|is|case|when|then|else|"
    r"limit|offset|interval|with|union|all|except|intersect|any|asof|global|left|right|full|inner|outer|cross|semi|anti|"
    r"array|over|partition|order|group|settings|sample",
    re.IGNORECASE,
)
"""Words of SQL after which an operand comes."""
_ENDS_OPERAND = re.compile(r"""[\w)\]}'"`]\Z""")
_WORD = re.compile(r"\w+")
_QUOTED_OR_COMMENT = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?P<comment>(?:^|(?<=\s))\#.*)""", re.DOTALL)
_WHOLLY_QUOTED = re.compile(r"""\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\s*""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Entry:
    """One directive of a datafile."""

    keyword: str
    """In upper case."""
    value: Text
    """Without the quotes around it."""
    location: Location
    """The place of the keyword."""
    is_block: bool = False


@dataclass(frozen=True, slots=True)
class Datafile:
    """A file as its directives, in their order."""

    file: str
    entries: tuple[Entry, ...]

    @property
    def location(self) -> Location:
        return Location(self.file)


class _Line(NamedTuple):
    """A line, with the properties that are needed again and again."""

    number: int
    text: str
    indent: int
    is_blank: bool
    is_comment: bool


class DirectiveLine(NamedTuple):
    """The parts of a line with a directive, as written."""

    keyword: str
    """In upper case."""
    value: str
    """With its quotes; of a block, what follows `>` in the line."""
    comment: str
    """From its # on; empty if there is none."""
    is_block: bool


def split_directive(line: str) -> DirectiveLine:
    """The parts of a line that is neither blank nor a comment."""
    found = _DIRECTIVE.fullmatch(line)
    assert found is not None, "a line that is not blank holds a word"
    value = _without_comment(found["value"])
    comment = found["value"][len(value) :].strip()
    sign = _BLOCK_SIGN.fullmatch(value.rstrip())
    if sign is not None:
        value = sign["first"] or ""
    return DirectiveLine(found["keyword"].upper(), value.strip(), comment, sign is not None)


def _measure_line(number: int, text: str) -> _Line:
    bare = text.lstrip()
    return _Line(number, text, len(text) - len(bare), not bare, bare.startswith("#"))


def parse_datafile(
    text: str, file: str, keywords: Collection[str], problems: list[Problem], outdated: Collection[str] = ()
) -> Datafile:
    """The entries of a text. An unknown keyword is a problem, and is left out together with its block. `outdated` are
    keywords of the format's former version: they end blocks as the others do."""
    lines = [_measure_line(number, line) for number, line in enumerate(split_lines(text), start=1)]
    known = frozenset((*keywords, *outdated))
    entries: list[Entry] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.is_blank or line.is_comment:
            continue
        entry = _read_line(line, file)
        if _lacks_sign(entry, lines[at:], line.indent):
            message, hint = f"`{entry.keyword}` needs a `>` before the lines below", f"write `{entry.keyword} >`"
            problems.append(Problem("empty-directive", message, entry.location, hint))
            entry = replace(entry, is_block=True)
        if entry.is_block:
            end = _block_end(lines, at, _Block(line.indent, entry.keyword, known))
            entry = replace(entry, value=_read_block(lines[at:end], entry))
            at = end
        if entry.keyword in known:
            entries.append(entry)
        else:
            problems.append(_unknown_keyword(entry, line, keywords))
    return Datafile(file, tuple(entries))


def _lacks_sign(entry: Entry, below: Sequence[_Line], indent: int) -> bool:
    """Whether a directive that takes a block has one below, but no `>`."""
    following = next((line for line in below if not line.is_blank), None)
    is_bare = entry.keyword in _BLOCKS and not entry.is_block and not entry.value.text
    return is_bare and following is not None and following.indent > indent


def split_lines(text: str) -> list[str]:
    """The lines of a file, without a byte order mark, whatever their ends."""
    return re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff"))


def _unknown_keyword(entry: Entry, line: _Line, keywords: Collection[str]) -> Problem:
    written = line.text.split()[0]
    return Problem("unknown-keyword", f"unknown keyword `{written}`", entry.location, _keyword_hint(entry, keywords))


def _keyword_hint(entry: Entry, keywords: Collection[str]) -> str | None:
    if entry.keyword.startswith("--"):
        return "outside a block a comment begins with #"
    near = nearest_name(entry.keyword, keywords)
    return f"did you mean `{near}`?" if near else None


def _read_line(line: _Line, file: str) -> Entry:
    """A line that is neither blank nor a comment as an entry; of a block, the part that stands in the same line."""
    found = _DIRECTIVE.fullmatch(line.text)
    assert found is not None, "a line that is not blank holds a word"
    value = _without_comment(found["value"])
    start = found.start("value")
    sign = _BLOCK_SIGN.fullmatch(value.rstrip())
    if sign is not None:
        start += max(sign.start("first"), 0)
        value = sign["first"] or ""
    elif _WHOLLY_QUOTED.fullmatch(value):
        inner = value.strip()[1:-1]
        start += value.index(value.strip()[0]) + 1
        value = inner
    cut = value.strip()
    start += len(value) - len(value.lstrip()) if cut else 0
    place = Location(file, line.number, start + 1)
    where = Location(file, line.number, found.end("indent") + 1)
    return Entry(found["keyword"].upper(), Text(cut, place), where, sign is not None)


def _without_comment(value: str) -> str:
    comment = next((found for found in _QUOTED_OR_COMMENT.finditer(value) if found["comment"] is not None), None)
    return value[: comment.start()] if comment else value


@dataclass(frozen=True, slots=True)
class _Block:
    """What decides where a block ends."""

    indent: int
    """The indent of its directive."""
    keyword: str
    """Its directive."""
    keywords: Collection[str]
    """All keywords of this kind of file."""

    def holds(self, line: _Line, before: str) -> bool:
        """Whether a line belongs to the block; `before` is the line above it that is not blank."""
        if line.indent > self.indent or line.is_blank or line.is_comment:
            return True
        found = _DIRECTIVE.fullmatch(line.text)
        assert found is not None, "a line that is not blank holds a word"
        return found["keyword"].upper() not in self.keywords and not self._is_misspelt(found, before)

    def _is_misspelt(self, line: re.Match[str], before: str) -> bool:
        """Whether a line must be a directive with a wrong keyword: it looks like one, and where it stands neither SQL
        nor a schema can go on with two words."""
        word = line["keyword"]
        if not _WRITTEN_AS_KEYWORD.fullmatch(word) or word in _SQL_WORDS or not nearest_name(word, self.keywords):
            return False
        if not ("_" in word or _ONE_VALUE.fullmatch(line["value"])):
            return False
        last = _WORD.match(before[::-1])  # backwards, since a search for the end of a text is quadratic
        return bool(_ENDS_OPERAND.search(before)) and (last is None or not _WANTS_MORE.fullmatch(last[0][::-1]))


def _block_end(lines: list[_Line], start: int, block: _Block) -> int:
    before = ""
    for at in range(start, len(lines)):
        if not block.holds(lines[at], before):
            return at
        if not (lines[at].is_blank or lines[at].is_comment):
            before = lines[at].text.rstrip()
    return len(lines)


def _read_block(lines: list[_Line], entry: Entry) -> Text:
    """The lines as one text without their shared indent, after what stands in the line of the directive. A line that
    begins with # is a comment and left out; in prose only if it is not indented."""
    is_prose = entry.keyword in PROSE
    kept = [line for line in lines if not line.is_blank and not (line.is_comment and not (is_prose and line.indent))]
    if not kept:
        return entry.value
    indent = _shared_indent([line.text[: line.indent] for line in kept])
    place = Location(entry.location.file, kept[0].number, indent + 1)
    first, last = kept[0].number, kept[-1].number
    if entry.value.text:
        place, first = entry.value.location, entry.value.location.line
    texts = [""] * (last - first + 1)
    texts[0] = entry.value.text
    for line in kept:
        texts[line.number - first] = line.text[indent:]
    return Text("\n".join(texts), place, indent)


def _shared_indent(indents: list[str]) -> int:
    """How many characters are common to the start of all indents; indents that mix tabs and spaces share few."""
    low, high = min(indents), max(indents)
    return next((at for at, char in enumerate(low) if char != high[at]), len(low))


def split_words(text: Text) -> Iterator[Text]:
    """The words of a line's value, quoted or not, each with its place."""
    for found in re.finditer(r""""([^"]*)"|'([^']*)'|(\S+)""", text.text):
        group = found.lastindex or 0
        yield Text(found[group], location_at(text, found.start(group)))


def split_items(text: Text) -> Iterator[Text]:
    """The comma- or line-separated items of a value, without quotes, each with its place."""
    for found in re.finditer(r"[^,\n]+", text.text):
        cut = found[0].strip()
        bare = cut.strip("\"'`")
        if bare:
            yield Text(bare, location_at(text, found.start() + found[0].index(bare)))
