"""The arguments of a JSON type: `JSON(a.b UInt32, SKIP c, SKIP REGEXP '^d', max_dynamic_paths = 8)`.

In: a reader that stands before the arguments. Out: a `Json`. Raises `InvalidType` for what has no exact meaning here.
Invariant: paths and patterns are in one order, so that two spellings of a type are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TypeAlias

from penstock.model import types as t
from penstock.model.json_documents.path_rules import InvalidPattern, skip_pattern
from penstock.model.quick_dataclass import dataclass
from penstock.parse.lexer import Lexeme, Reader
from penstock.parse.type_syntax.type_arguments import InvalidType, read_number

ReadType: TypeAlias = Callable[[Reader], t.Type]
"""Reads the next type of a reader."""
_LIMITS = ("max_dynamic_paths", "max_dynamic_types")
"""Limits of ClickHouse's storage, which have no meaning here."""


@dataclass(frozen=True)
class _Arguments:
    """What was read so far."""

    paths: dict[str, t.Type] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)


def read_json(reader: Reader, head: Lexeme, read_type: ReadType) -> t.Type:
    """Nothing, or a list of `a.b UInt32`, `SKIP a.b`, `SKIP REGEXP '…'` and limits such as `max_dynamic_paths = 8`."""
    if not reader.accept("(") or reader.accept(")"):
        return t.Json()
    found = _Arguments()
    _read_argument(reader, found, read_type)
    while reader.accept(","):
        _read_argument(reader, found, read_type)
    reader.expect(")")
    for path in found.paths:
        _check_path(path, found, head)
    paths, skipped, patterns = (tuple(sorted(each)) for each in (found.paths, found.skipped, found.patterns))
    return t.Json(tuple((path, found.paths[path]) for path in paths), skipped, patterns)


def _read_argument(reader: Reader, found: _Arguments, read_type: ReadType) -> None:
    first, second = reader.peek(), reader.peek(1)
    if first.kind == "word" and first.text in _LIMITS and second.says("="):
        reader.skip(2)
        read_number(reader, 0, 10000)
    elif first.says("SKIP") and second.says("REGEXP") and reader.peek(2).kind == "string":
        reader.skip(2)
        found.patterns.add(_read_pattern(reader))
    elif first.says("SKIP") and second.kind in ("word", "quoted"):
        reader.take()
        found.skipped.add(_read_path(reader))
    else:
        path = _read_path(reader)
        if path in found.paths:
            raise InvalidType(f"the path `{path}` stands twice in JSON(…)", first.start)
        found.paths[path] = _read_path_type(reader, read_type)


def _read_pattern(reader: Reader) -> str:
    written = reader.take()
    try:
        skip_pattern(written.value)
    except InvalidPattern as error:
        hint = "name the paths: `SKIP a.b` leaves out all below it too"
        raise InvalidType(f"this pattern of SKIP REGEXP is not supported: {error}", written.start, hint) from None
    return written.value


def _read_path(reader: Reader) -> str:
    """`a.b`, names in back-quotes."""
    names = [_read_path_name(reader)]
    while reader.accept("."):
        names.append(_read_path_name(reader))
    return ".".join(names)


def _read_path_name(reader: Reader) -> str:
    found = reader.peek()
    if found.kind not in ("word", "quoted"):
        raise reader.unexpected("a path", "`a.b UInt32`, or `SKIP a.b`")
    return reader.take().value


def _read_path_type(reader: Reader, read_type: ReadType) -> t.Type:
    start = reader.peek()
    of = read_type(reader)
    if not _is_path_type(of):
        hint = "read it as a String, and convert it where the path is read"
        raise InvalidType(f"a path of a JSON column cannot have the type {of} here", start.start, hint)
    return of


def _is_path_type(of: t.Type) -> bool:
    """Whether a path of a JSON column can have a type."""
    match t.unwrap_type(of):
        case t.DateTime(zone) | t.DateTime64(_, zone):
            return zone is None
        case t.Date():
            return True
        case inner:
            return _is_element_type(inner)


def _is_element_type(of: t.Type) -> bool:
    match t.unwrap_type(of):
        case t.Array(inner):
            return _is_element_type(inner)
        case t.Int() | t.Float() | t.Bool() | t.String() | t.UUID():
            return True
        case _:
            return False


def _check_path(path: str, found: _Arguments, head: Lexeme) -> None:
    """Raises InvalidType for a path with a type that is left out, or that is below another one."""
    above = [path[:at] for at, each in enumerate(path) if each == "."]
    out = next((f"SKIP leaves out `{each}`" for each in (path, *above) if each in found.skipped), None)
    for pattern in found.patterns:
        if skip_pattern(pattern).search(path):
            out = f"SKIP REGEXP '{pattern}' leaves it out"
    if out is not None:
        raise InvalidType(f"`{path}` has a type in JSON(…), and {out}", head.start)
    both = next((each for each in above if each in found.paths), None)
    if both is not None:
        raise InvalidType(f"`{both}` and `{path}` cannot both have a type in JSON(…)", head.start)
