"""The canonical layout of a datafile, as `penstock fmt` writes it.

In: the text of a .datasource or .pipe file. Out: the same file laid out: keywords in upper case at the left margin,
blocks indented by four spaces, one column a line, one empty line where parts end. Invariants: the file means the same
before and after, which is checked each time; every comment is kept; a text that is laid out stays as it is. SQL keeps
its own lines: sqlglot loses or moves comments when it writes SQL, and does not know templates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias, Union

from penstock.errors import Failed, InvalidProject, Problem
from penstock.model.datasource import DataSource
from penstock.model.pipe import Dialect, Pipe
from penstock.parse.datafile import PROSE, DirectiveLine, Entry, parse_datafile, split_directive, split_lines
from penstock.parse.datasource import DATASOURCE_KEYWORDS, OTHER_DATASOURCE_KEYWORDS, parse_datasource
from penstock.parse.layout.schema_layout import schema_lines
from penstock.parse.pipe import OTHER_PIPE_KEYWORDS, PIPE_KEYWORDS, parse_pipe

INDENT = "    "
Resource: TypeAlias = Union[DataSource, Pipe, None]
SchemaDivider: TypeAlias = Callable[[str, Mapping[int, str]], "list[str] | None"]
DATASOURCE_SUFFIX = ".datasource"
_DATASOURCE_WORDS = (*DATASOURCE_KEYWORDS, *OTHER_DATASOURCE_KEYWORDS)
_PIPE_WORDS = (*PIPE_KEYWORDS, *OTHER_PIPE_KEYWORDS)


def lay_out(text: str, file: str, name: str, dialect: Dialect) -> str:
    """The text of a file in canonical layout. Raises InvalidProject if the file has errors: nobody knows what it
    means then."""
    before = _read_resource(text, file, name, dialect)
    # Should a column mean something else when the block is taken apart, it keeps its own lines.
    for divide in (schema_lines, _keep_lines):
        laid_out = _lay_out_entries(text, file, divide)
        try:
            if _read_resource(laid_out, file, name, dialect) == before:
                return laid_out
        except InvalidProject:
            continue
    hint = "please report it; the file is unchanged"
    raise Failed(f"{file} would mean something else in another layout", hint=hint)


def _keep_lines(text: str, comments: Mapping[int, str]) -> None:
    """Leaves the lines of a SCHEMA block as they are."""


def _read_resource(text: str, file: str, name: str, dialect: Dialect) -> Resource:
    problems: list[Problem] = []
    found: Resource
    if file.endswith(DATASOURCE_SUFFIX):
        found = parse_datasource(text, file, name, problems)
    else:
        found = parse_pipe(text, file, name, dialect, problems)
    errors = [problem for problem in problems if problem.level == "error"]
    if errors:
        raise InvalidProject(f"{file} has problems", errors)
    return found


def _lay_out_entries(text: str, file: str, divide: SchemaDivider) -> str:
    lines = split_lines(text)
    known = _DATASOURCE_WORDS if file.endswith(DATASOURCE_SUFFIX) else _PIPE_WORDS
    entries = parse_datafile(text, file, known, []).entries
    starts = [entry.location.line - 1 for entry in entries]
    made = _free_lines(lines[: starts[0]] if starts else lines)
    for entry, start, end in zip(entries, starts, [*starts[1:], len(lines)], strict=True):
        last = _last_line(entry, start)
        part = [*_head_lines(split_directive(lines[start]), entry), *_body_lines(entry, lines, start, divide)]
        made = [*_separate(made, part, entry), *part]
        after = _free_lines(lines[last + 1 : end])
        made += [""] * (bool(entry.is_block and after and after[0])) + after
    return "\n".join(_without_outer_blanks(made)) + "\n" if any(made) else ""


def _last_line(entry: Entry, start: int) -> int:
    """The number of the last line of an entry, from 0."""
    if not entry.is_block or not entry.value.text:
        return start
    return entry.value.location.line - 1 + entry.value.text.count("\n")


def _head_lines(line: DirectiveLine, entry: Entry) -> list[str]:
    sign = [">"] if line.is_block else [line.value]
    return [" ".join(filter(None, [entry.keyword, *sign, line.comment]))]


def _body_lines(entry: Entry, lines: Sequence[str], start: int, divide: SchemaDivider) -> list[str]:
    """The lines of a block, with the comments in it."""
    if not entry.is_block or not entry.value.text:
        return []
    first = entry.value.location.line - 1
    is_prose = entry.keyword in PROSE
    above = [_indent_comment(each, is_prose=is_prose) for each in lines[start + 1 : first] if each.strip()]
    texts = entry.value.text.split("\n")
    comments = {
        at: lines[first + at].strip() for at, text in enumerate(texts) if not text and lines[first + at].strip()
    }
    made = divide(entry.value.text, comments) if entry.keyword == "SCHEMA" else None
    if made is not None:
        return above + [f"{INDENT}{each}".rstrip() if "\n" not in each else _indent_all(each) for each in made]
    body = [
        _indent_comment(comments[at], is_prose=is_prose) if at in comments else f"{INDENT}{text}" if text else ""
        for at, text in enumerate(texts)
    ]
    return above + body


def _indent_all(text: str) -> str:
    return "\n".join(f"{INDENT}{line}" if line else "" for line in text.split("\n"))


def _indent_comment(line: str, *, is_prose: bool) -> str:
    """A comment inside a block. In prose an indented # begins a heading, so that a comment stays at the margin."""
    return line.strip() if is_prose else f"{INDENT}{line.strip()}"


def _free_lines(lines: Sequence[str]) -> list[str]:
    """Comments and empty lines between directives: at the left margin, no two empty lines together."""
    made: list[str] = []
    for line in (line.strip() for line in lines):
        if line or not made or made[-1]:
            made.append(line)
    return made


def _separate(made: Sequence[str], part: Sequence[str], entry: Entry) -> Iterator[str]:
    """What stands above, with an empty line after a block and before a node, above the comments that belong to it."""
    lines = list(made)
    at = len(lines)
    while at and lines[at - 1].startswith("#"):
        at -= 1
    follows_block = bool(at and (lines[at - 1].startswith(" ") or lines[at - 1].endswith(" >")))
    if at and lines[at - 1] and (follows_block or entry.keyword in ("NODE", "SCOPE")):
        lines.insert(at, "")
    return iter(lines)


def _without_outer_blanks(lines: Sequence[str]) -> list[str]:
    kept = [at for at, line in enumerate(lines) if line]
    return list(lines[kept[0] : kept[-1] + 1]) if kept else []
