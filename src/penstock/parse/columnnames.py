"""What a column may be called.

In: the lexeme of a name, or all columns of a schema. Out: errors and problems. Called by schema.
Invariant: no accepted name can be one of the names that tables use for themselves: `_seq`,
`_rejects` and physical columns, `<name>__<number>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from penstock.errors import Problem
from penstock.model.datasource import Column
from penstock.model.manifest import REJECTS, SEQ
from penstock.parse.lexer import InvalidSyntax, Lexeme

_PLAIN = re.compile(r"[^\s\\`\"'.\x00-\x1f]+")
_PHYSICAL = re.compile(r".*__[0-9]+", re.DOTALL)


class ReservedColumn(InvalidSyntax):
    """A name that tables use for themselves."""

    code = "reserved-column"


class InvalidColumnName(InvalidSyntax):
    """A name that no column can have."""

    code = "invalid-column"


def check_name(head: Lexeme) -> None:
    """Raises for a name that a column cannot have."""
    name = head.value
    if name.startswith((SEQ, REJECTS)):
        raise ReservedColumn(f"a column cannot be called `{name}`", head.start, f"{SEQ}… and {REJECTS}… are reserved")
    if _PHYSICAL.fullmatch(name):
        hint = "names that end in two underscores and a number are reserved"
        raise ReservedColumn(f"a column cannot be called `{name}`", head.start, hint)
    if not _PLAIN.fullmatch(name):
        hint = "a name has no spaces, dots, quotes or backslashes"
        raise InvalidColumnName(f"{name!r} cannot be the name of a column", head.start, hint)


def check_together(columns: Sequence[Column]) -> Iterator[Problem]:
    """The problems that only all columns together show."""
    yield from _check_twice(columns)
    yield from _check_renames(columns)


def _check_twice(columns: Iterable[Column]) -> Iterator[Problem]:
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
            yield Problem("invalid-rename", message, column.location)
        taken[old] = column


def _line(column: Column) -> int:
    return column.location.line
