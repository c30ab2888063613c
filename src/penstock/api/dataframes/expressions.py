"""Pieces of SQL whose columns are not named yet.

In: texts and references to columns. Out: `SqlPiece`. Invariant: a piece stands for one value and may be put
anywhere in another piece as it is: whatever has an operator is in parentheses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, Union


@dataclass(frozen=True, slots=True)
class ColumnUse:
    """A column of a relation, by the relation's number and the column's key in it."""

    relation: int
    key: str


Part: TypeAlias = Union[str, ColumnUse]


@dataclass(frozen=True, slots=True)
class SqlPiece:
    """A value as SQL."""

    parts: tuple[Part, ...]

    @property
    def refs(self) -> frozenset[ColumnUse]:
        return frozenset(each for each in self.parts if isinstance(each, ColumnUse))

    @property
    def ref(self) -> ColumnUse | None:
        """The column that it is; None if it is anything else."""
        first = self.parts[0]
        return first if len(self.parts) == 1 and isinstance(first, ColumnUse) else None

    @property
    def size(self) -> int:
        """About how long its text is."""
        return sum(len(each) if isinstance(each, str) else len(each.key) for each in self.parts)

    def replace(self, values: Mapping[ColumnUse, SqlPiece]) -> SqlPiece:
        """The same with other pieces in the place of columns."""
        found: list[Part] = []
        for each in self.parts:
            found += values[each].parts if isinstance(each, ColumnUse) and each in values else (each,)
        return SqlPiece(tuple(found))

    def text(self, aliases: Mapping[int, str]) -> str:
        """The text, with the alias of each relation."""
        return "".join(
            each if isinstance(each, str) else f"{quote(aliases[each.relation])}.{quote(each.key)}"
            for each in self.parts
        )


def quote(name: str) -> str:
    """A name as Spark SQL writes it."""
    return "`" + name.replace("`", "``") + "`"


def sql(*parts: str | SqlPiece) -> SqlPiece:
    """A piece made of texts and of other pieces."""
    found: list[Part] = []
    for each in parts:
        found += each.parts if isinstance(each, SqlPiece) else (each,)
    return SqlPiece(tuple(found))


def join(separator: str, pieces: Iterable[SqlPiece]) -> SqlPiece:
    """Pieces with a text between them."""
    found: list[str | SqlPiece] = []
    for each in pieces:
        found += [separator, each] if found else [each]
    return sql(*found)


def call(name: str, arguments: Iterable[SqlPiece], before: str = "") -> SqlPiece:
    """A call of a function; `before` stands before the first argument, as DISTINCT does."""
    return sql(f"{name}({before}", join(", ", arguments), ")")
