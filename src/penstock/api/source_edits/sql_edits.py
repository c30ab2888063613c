"""Edits of SQL in the literals of Python that it is written in.

In: the SQL of a view before and after, and the file in which it is. Out: edits of the literal. Invariant: only words
that are other ones are replaced; a word that a value of Python put in is never replaced, and a text of which it is not
clear where it is written is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher

from penstock.api.source_edits.source_text import CannotEdit, Edit, SourceText
from penstock.api.source_edits.string_literals import StringLiteral, TextPiece, string_literals, with_named_holes

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")


def sql_edits(source: SourceText, line: int, before: str, after: str) -> list[Edit]:
    """The edits that make one SQL of another; `line` is in or beside the literal. Raises CannotEdit."""
    found = [placed for each in string_literals(source) if (placed := _placed(each, before)) is not None]
    around = [each for each in found if each.literal.first_line <= line <= each.literal.last_line]
    chosen = around or found
    if not chosen:
        raise CannotEdit("no text in its file has this SQL")
    if len(chosen) > 1:
        raise CannotEdit(f"{len(chosen)} texts in its file have this SQL")
    return [*_token_edits(chosen[0], before, after, source.newline)]


@dataclass(frozen=True, slots=True)
class _PlacedSql:
    """SQL whose characters have places: one piece for each that is no space."""

    literal: StringLiteral
    pieces: tuple[TextPiece, ...]
    indent: str
    """What stands before a line in the file and not in the SQL."""


def _placed(literal: StringLiteral, sql: str) -> _PlacedSql | None:
    """Where the characters of SQL are in a literal; None if the literal is another text."""
    for each in (literal, with_named_holes(literal)):
        solid = [piece for piece in each.pieces if not piece.character.isspace()]
        if not any(piece.character for piece in solid):
            continue
        lengths = _value_lengths(solid, "".join(sql.split()))
        if lengths is not None:
            pieces = tuple(_spread(solid, lengths))
            return _PlacedSql(each, pieces, _indent(each, pieces, sql))
    return None


def _value_lengths(solid: list[TextPiece], text: str) -> list[int] | None:
    """How many characters the value of each hole has, if the text is these pieces with a value in each hole; else None.
    What stands between two holes is where it is found first, so that the time grows with the text alone."""
    first, *parts = "".join(piece.character or "\0" for piece in solid).split("\0")
    if not parts:
        return [] if text == first else None
    *between, last = parts
    if not text.startswith(first):
        return None
    at, lengths = len(first), list[int]()
    for part in between:
        found = text.find(part, at + 1)
        if found < 0:
            return None
        lengths.append(found - at)
        at = found + len(part)
    end = len(text) - len(last)
    return [*lengths, end - at] if end > at and text.endswith(last) else None


def _spread(solid: list[TextPiece], lengths: list[int]) -> Iterator[TextPiece]:
    """A piece for each character of the SQL: a hole for each of its value."""
    left = iter(lengths)
    for piece in solid:
        yield from [piece] * (1 if piece.character else next(left))


def _indent(literal: StringLiteral, pieces: tuple[TextPiece, ...], sql: str) -> str:
    """What the lines of the literal are indented by, and those of the SQL are not: as its second line shows."""
    first, newline, rest = sql.partition("\n")
    line = rest.split("\n")[0]
    if not (newline and line.strip()):
        return ""
    begins = pieces[len("".join(first.split()))]
    before = "".join(each.character for each in literal.pieces if each.start < begins.start)
    return before.rpartition("\n")[2].removesuffix(line[: len(line) - len(line.lstrip())])


def _token_edits(placed: _PlacedSql, before: str, after: str, newline: str) -> Iterator[Edit]:
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    for kind, first, last, new_first, new_last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            region = (len("".join(old[:first])), len("".join(old[:last])))
            text = "".join(new[new_first:new_last]).replace("\n", f"\n{placed.indent}")
            yield from _region_edits(placed, before, region, text, newline)


def _region_edits(placed: _PlacedSql, sql: str, region: tuple[int, int], text: str, newline: str) -> Iterator[Edit]:
    """The edits that put a text in the place of a region of the SQL, which begins and ends with whole words."""
    first, last = region
    if first == last:
        beside = _piece_at(placed, sql, first - 1) or _piece_at(placed, sql, first)
        after = _piece_at(placed, sql, first)
        assert beside is not None, "two spaces are one word"
        if beside is after and not beside.character and _piece_at(placed, sql, first - 1) is after:
            raise CannotEdit("the words to change are of a value of Python")
        place = beside.start if beside is after else beside.end
        yield Edit(place, place, beside.style.written(text, newline))
        return
    begin = _piece_at(placed, sql, first)
    end = _piece_at(placed, sql, last - 1)
    before, behind = _piece_at(placed, sql, first - 1), _piece_at(placed, sql, last)
    start = begin.start if begin is not None else before.end if before is not None else 0
    stop = end.end if end is not None else behind.start if behind is not None else start
    covered = [each for each in placed.literal.pieces if start <= each.start and each.end <= stop]
    solid = [piece for at in range(first, last) if (piece := _piece_at(placed, sql, at)) is not None]
    if not covered or any(not each.character for each in (*covered, *solid)):
        raise CannotEdit("the words to change are of a value of Python")
    written = covered[0].style.written(text, newline)
    for run in _runs(covered):
        yield Edit(run[0].start, run[-1].end, written)
        written = ""


def _piece_at(placed: _PlacedSql, sql: str, at: int) -> TextPiece | None:
    """The piece of a character of the SQL; None for a space, and outside."""
    if not 0 <= at < len(sql) or sql[at].isspace():
        return None
    return placed.pieces[len("".join(sql[:at].split()))]


def _runs(pieces: list[TextPiece]) -> Iterator[list[TextPiece]]:
    """The pieces in groups that stand side by side, within one literal."""
    run: list[TextPiece] = []
    for each in pieces:
        if run and run[-1].end != each.start:
            yield run
            run = []
        run.append(each)
    yield run
