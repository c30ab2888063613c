"""Parses the SCHEMA block of a data source to its columns.

In: the block's text. Out: `Column` values, and a problem for each wrong column. Invariants: a column that is refused
for what follows its type is still returned, so that keys that name it are not refused too; no column has one of the
names that tables use for themselves: `_seq`, `_rejects` and physical columns, `<name>__<number>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache

from penstock.errors import Location, Problem, did_you_mean
from penstock.model.datasource import Column, Text
from penstock.model.json_path import parse_json_path, path_of_key
from penstock.model.manifest import REJECTS, SEQ
from penstock.model.quick_dataclass import dataclass
from penstock.model.types import Nullable, Type
from penstock.parse.column_types import read_type
from penstock.parse.lexer import (
    InvalidSyntax,
    Lexeme,
    Reader,
    comma_spans,
    depth_change,
    lex,
    location_at,
    problem_at,
    quote_hint,
    split_at_commas,
    text_slice,
)
from penstock.parse.type_syntax.type_arguments import check_nullable

_REFUSED: Mapping[str, str] = {
    "MATERIALIZED": "compute the column in a materialized view, or give it a DEFAULT",
    "ALIAS": "compute the column where it is read",
    "EPHEMERAL": "give the column a DEFAULT",
    "TTL": "ENGINE_TTL removes whole rows",
    "COMMENT": "write a comment behind --",
    "PRIMARY": "write ENGINE_PRIMARY_KEY",
    "STATISTICS": "the tables have statistics of their own",
}
_MODIFIERS = ("DEFAULT", "CODEC", "RENAMED_FROM")


class InvalidColumn(InvalidSyntax):
    """A part of a column definition that is not allowed."""

    code = "invalid-column"


class UnsupportedColumn(InvalidSyntax):
    """A part of a column definition that ClickHouse allows and this version refuses."""

    code = "unsupported-column"


@dataclass(slots=True)
class _Modifiers:
    """What follows a column's type, as far as it was read."""

    json_path: str | None = None
    default: Text | None = None
    codec: str | None = None
    renamed_from: str | None = None
    null: Lexeme | None = None
    """The word NULL, which makes the type Nullable, or NOT of NOT NULL."""
    seen: set[str] = field(default_factory=set)


def parse_schema(text: Text, problems: list[Problem]) -> tuple[Column, ...]:
    """The columns of a SCHEMA block, in their order."""
    columns = _read_cached_columns(text)
    if columns is None:
        columns = _parse_columns(text, problems)
    problems.extend(check_columns_together(columns))
    first_of_name: dict[str, Column] = {}
    for column in columns:
        first_of_name.setdefault(column.name, column)
    return tuple(first_of_name.values())


def _read_cached_columns(text: Text) -> list[Column] | None:
    """The columns, each parsed once for all data sources that have it; None if one is wrong (the caller then reads all
    of them again to locate the mistake)."""
    columns: list[Column] = []
    line, begun, before = 1, 0, 0
    for start, end in comma_spans(text.text):
        known = _read_column_alone(text.text[start:end])
        if known is None:
            return None
        newlines = text.text.count("\n", before, start)
        if newlines:
            line, begun = line + newlines, text.text.rfind("\n", before, start) + 1
        where = text.at(line, start - begun + 1)
        columns += [_relocate_column(column, where, text.indent) for column in known]
        before = start
    return columns


@lru_cache(maxsize=16384)
def _read_column_alone(words: str) -> tuple[Column, ...] | None:
    """The column between two commas, with places as if it were at the start of the text; () if there are only comments,
    None if it is wrong."""
    problems: list[Problem] = []
    columns = _parse_columns(Text(words, Location("")), problems)
    return tuple(columns) if not problems else None


def _relocate_column(column: Column, start: Location, indent: int) -> Column:
    """A column that was read alone, with its places moved to `start`."""
    where, default = column.location, column.default
    where = start if where.line == where.column == 1 else _relocate(where, start, indent)
    if default is not None:
        default = Text(default.text, _relocate(default.location, start, indent), indent)
    return Column(column.name, column.type, column.json_path, default, column.codec, column.renamed_from, where)


def _relocate(alone: Location, start: Location, indent: int) -> Location:
    return Text("", start, indent).at(alone.line, alone.column)


def _parse_columns(text: Text, problems: list[Problem]) -> list[Column]:
    columns: list[Column] = []
    for lexemes in split_at_commas(lex(text.text)):
        try:
            columns.append(_parse_column(Reader(lexemes), text, problems))
        except InvalidSyntax as error:
            problems.append(problem_at(error, text))
    return columns


def _parse_column(reader: Reader, text: Text, problems: list[Problem]) -> Column:
    head = reader.peek()
    if head.kind not in ("word", "quoted"):
        raise InvalidColumn(f"expected the name of a column, found {head}", head.start, _comma_hint(head))
    reader.take()
    _refuse_absent_type(head, reader.peek())
    of = read_type(reader)
    found = _Modifiers()
    try:
        check_name(head)
        _read_modifiers(reader, text, found)
        of = _apply_null(of, found.null)
    except InvalidSyntax as error:
        problems.append(problem_at(error, text))
    where = location_at(text, head.start)
    return Column(head.value, of, found.json_path, found.default, found.codec, found.renamed_from, where)


def _refuse_absent_type(name: Lexeme, following: Lexeme) -> None:
    """Raises InvalidColumn where a modifier stands in the place of the type; ClickHouse would take the DEFAULT's."""
    if following.kind == "word" and following.text.upper() in _MODIFIERS:
        message = f"the column `{name.value}` has no type"
        raise InvalidColumn(message, following.start, f"write one before {following.text}: it is not inferred")


def _read_modifiers(reader: Reader, text: Text, into: _Modifiers) -> None:
    while (head := reader.peek()).kind != "end":
        word = "json path" if _is_path(head) else head.text.upper()
        word = "NULL" if word == "NOT" else word
        if word in into.seen:
            raise InvalidColumn(f"a second {word} in one column", head.start, "keep one of them")
        into.seen.add(word)
        if word == "json path":
            into.json_path = _read_path(reader)
        elif word == "DEFAULT":
            into.default = _read_default(reader, text)
        elif word == "CODEC":
            into.codec = _read_codec(reader, text)
        elif word == "RENAMED_FROM":
            into.renamed_from = _read_old_name(reader)
        elif word == "NULL":
            into.null = _read_null(reader)
        else:
            raise _unknown_modifier(head, text)


def _read_null(reader: Reader) -> Lexeme:
    """NULL or NOT NULL: the first word."""
    head = reader.take()
    if head.says("NOT"):
        reader.expect("NULL")
    return head


def _apply_null(of: Type, null: Lexeme | None) -> Type:
    """The type with a NULL or NOT NULL behind it; a column without either holds no NULL."""
    if null is not None and isinstance(of, Nullable):
        raise InvalidColumn("NULL and NOT NULL cannot follow a Nullable type", null.start, "remove it")
    if null is None or null.says("NOT"):
        return of
    check_nullable(of, null)
    return Nullable(of)


def _unknown_modifier(head: Lexeme, text: Text) -> InvalidSyntax:
    word = head.text.upper()
    if head.kind == "word" and word in _REFUSED:
        name = {"PRIMARY": "PRIMARY KEY", "TTL": "a column's TTL"}.get(word, word)
        return UnsupportedColumn(f"{name} is not supported", head.start, _REFUSED[word])
    begins_line = not text.text[: head.start].rpartition("\n")[2].strip()
    hint = _comma_hint(head) or did_you_mean(head.text, _MODIFIERS)
    if begins_line and head.kind in ("word", "quoted"):
        hint = "is a comma missing before it?"
    wanted = "a comma, a json path, DEFAULT, CODEC, NULL or RENAMED_FROM"
    return InvalidColumn(f"expected {wanted}, found {head}", head.start, hint)


def _comma_hint(head: Lexeme) -> str | None:
    return "one comma is too many" if head.kind == "end" else quote_hint(head)


def _is_path(lexeme: Lexeme) -> bool:
    return lexeme.kind == "quoted" and lexeme.value.startswith("json:")


def _read_path(reader: Reader) -> str:
    head = reader.take()
    path = head.value.removeprefix("json:").strip()
    if not _is_json_path(path):
        hint = "such as `json:$.a`, `json:$.a[:].b`, `json:$['a key'].b` or `json:$` for the whole row"
        raise InvalidColumn(f"`{path}` is not a JSON path", head.start, hint)
    return path


def _is_json_path(path: str) -> bool:
    """Whether it is a path of a row, which is an object: `$[:]` is none."""
    try:
        return parse_json_path(path)[:1] != (None,)
    except ValueError:
        return False


def _read_default(reader: Reader, text: Text) -> Text:
    """The text of a DEFAULT: up to the next modifier outside brackets, or the end of the column."""
    keyword = reader.take()
    last, opened = keyword, list[Lexeme]()
    while (head := reader.peek()).kind != "end":
        if not opened and last is not keyword and (_ends_default(reader) or _is_null_modifier(last, reader)):
            break
        if quote_hint(head) or (depth_change(head) < 0 and not opened):
            raise InvalidColumn(f"expected an expression after DEFAULT, found {head}", head.start, quote_hint(head))
        opened = [*opened, head] if depth_change(head) > 0 else opened[: len(opened) + depth_change(head)]
        last = reader.take()
    if last is keyword:
        raise reader.unexpected("an expression after DEFAULT")
    if opened:
        raise InvalidColumn("this bracket is not closed", opened[-1].start)
    return text_slice(text, keyword.end, last.end)


def _ends_default(reader: Reader) -> bool:
    head, following = reader.peek(), reader.peek(1)
    if head.kind == "word" and following.kind not in ("symbol", "end"):
        return head.text.upper() in ("RENAMED_FROM", "TTL", "COMMENT", "MATERIALIZED", "ALIAS")
    return _is_path(head) or (head.says("CODEC") and following.says("("))


_OPERATOR_WORDS = """
is not and or xor in like ilike between div mod case when then else interval
"""
_BEFORE_OPERANDS = frozenset(_OPERATOR_WORDS.split())


def _is_null_modifier(last: Lexeme, reader: Reader) -> bool:
    """Whether NULL or NOT NULL comes next, behind a whole expression: not that of `x IS NOT NULL`."""
    comes = reader.peek().says("NULL") or (reader.peek().says("NOT") and reader.peek(1).says("NULL"))
    ends = last.kind != "symbol" or last.text in (")", "]")
    return comes and ends and not (last.kind == "word" and last.text.lower() in _BEFORE_OPERANDS)


def _read_codec(reader: Reader, text: Text) -> str:
    reader.take()
    start = reader.expect("(").end
    inner = reader.until_close()
    return text.text[start : inner[-1].end].strip() if inner else ""


def _read_old_name(reader: Reader) -> str:
    reader.take()
    if reader.peek().kind not in ("word", "quoted"):
        raise InvalidColumn(f"expected the former name of the column, found {reader.peek()}", reader.peek().start)
    return reader.take().value


_PART = r"[^\s\\`\"'.\x00-\x1f]+"
_PLAIN = re.compile(rf"{_PART}(?:\.{_PART})*")
_NO_WORD = re.compile(r"\W+")
_PHYSICAL = re.compile(r".*__[0-9]+", re.DOTALL)


class ReservedColumn(InvalidSyntax):
    """A name that tables use for their hidden columns."""

    code = "reserved-column"


class InvalidColumnName(InvalidSyntax):
    """A name that no column may have."""

    code = "invalid-column"


def check_name(head: Lexeme) -> None:
    """Raises InvalidColumnName, or ReservedColumn, for a name that a column cannot have."""
    name = head.value
    if name.startswith((SEQ, REJECTS)):
        raise ReservedColumn(f"a column cannot be called `{name}`", head.start, f"{SEQ}… and {REJECTS}… are reserved")
    if _PHYSICAL.fullmatch(name):
        hint = "names that end in two underscores and a number are reserved"
        raise ReservedColumn(f"a column cannot be called `{name}`", head.start, hint)
    if not _PLAIN.fullmatch(name):
        hint = "a name has no spaces, quotes or backslashes, and no dot at its ends or beside another"
        if not set("'\\`\"") & set(name):
            plain = _NO_WORD.sub("_", name)
            hint += f"; for a key that has them, write {plain} with the path `json:{path_of_key(name)}`"
        raise InvalidColumnName(f"{name!r} cannot be the name of a column", head.start, hint)


def check_columns_together(columns: Sequence[Column]) -> Iterator[Problem]:
    """Problems that concern several columns."""
    yield from _check_duplicates(columns)
    yield from _check_dotted_names(columns)
    yield from _check_renames(columns)


def _check_dotted_names(columns: Sequence[Column]) -> Iterator[Problem]:
    """Problems of `a.b` beside `a`: in the files of a table that is how a part of `a` is called."""
    names = {column.name for column in columns}
    for column in columns:
        parts = column.name.split(".")
        whole = next((name for end in range(1, len(parts)) if (name := ".".join(parts[:end])) in names), None)
        if whole is not None:
            message = f"`{column.name}` cannot stand beside the column `{whole}`"
            hint = f"write {_NO_WORD.sub('_', column.name)}, or give `{whole}` another name"
            yield Problem("invalid-column", message, column.location, hint)


def _check_duplicates(columns: Iterable[Column]) -> Iterator[Problem]:
    first: dict[str, Column] = {}
    for column in columns:
        if column.name in first:
            hint = f"the first is in line {_line(first[column.name])}"
            yield Problem("duplicate-column", f"a second column `{column.name}`", column.location, hint)
        first.setdefault(column.name, column)


def _check_renames(columns: Sequence[Column]) -> Iterator[Problem]:
    by_name = {column.name: column for column in columns}
    taken: dict[str, Column] = {}
    for column in columns:
        old = column.renamed_from
        if old is None or old == column.name:
            continue
        still = by_name.get(old)
        if still is not None and still.renamed_from in (None, old):
            yield Problem("invalid-rename", f"`{old}` is still a column: line {_line(still)}", column.location)
        if old in taken:
            message = f"`{taken[old].name}` and `{column.name}` are both RENAMED_FROM `{old}`"
            yield Problem("invalid-rename", message, column.location, "remove RENAMED_FROM from one of them")
        taken[old] = column


def _line(column: Column) -> int:
    return column.location.line
