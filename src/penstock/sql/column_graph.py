"""The columns of queries and what each is made of: values that name no SQL.

In: filled in by column_reading. Out: `Graph`, its columns, and the scope in which names are found. Called by
lineage, prune and column_reading. Invariant: what a name may be is never left out; the `ANY` column of a
source may be any of its columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, Union

from sqlglot import exp

ANY = "*"
"""The column of an `Origin`, inside of what reads SQL, that may be any column."""


@dataclass(frozen=True, slots=True)
class Origin:
    """A column of a source, by its placeholder."""

    placeholder: str
    column: str


@dataclass(frozen=True, slots=True)
class Slot:
    """A column of a SELECT or a UNION, by their place in the SQL."""

    block: int
    place: int


Ref: TypeAlias = Union[Origin, Slot]
Refs: TypeAlias = frozenset[Ref]
NONE: Refs = frozenset()


@dataclass(frozen=True, slots=True)
class Block:
    """A query: its columns, what decides its rows, what a column of another name may be."""

    names: tuple[str, ...]
    slots: tuple[Slot, ...]
    rows: Refs
    rest: Refs | None = None

    @property
    def all(self) -> Refs:
        return self.rows.union(self.slots, self.rest or ())


@dataclass(frozen=True, slots=True)
class SelectList:
    """The columns of a SELECT that may be left out; `alone` is what stays where all are."""

    items: tuple[exp.Expr, ...]
    slots: tuple[Slot, ...]
    alone: str


@dataclass(slots=True)
class Graph:
    """What each column is made of, the select lists that can be cut, the sources."""

    needs: dict[Slot, Refs] = field(default_factory=dict)
    lists: list[SelectList] = field(default_factory=list)
    sources: set[str] = field(default_factory=set)
    blocks: int = 0

    def slots(self, width: int) -> tuple[Slot, ...]:
        """The columns of one more block."""
        self.blocks += 1
        return tuple(Slot(self.blocks, place) for place in range(width))

    def tie(self, slot: Slot, refs: Refs) -> None:
        """A column that is there as long as those are that it is made of, and the other way round."""
        self.needs[slot] = refs
        self.needs.update({each: self.needs[each] | {slot} for each in refs if isinstance(each, Slot)})

    def reach(self, refs: Iterable[Ref]) -> Refs:
        """The columns and all that they are made of."""
        found, left = set(refs), list(refs)
        while left:
            each = left.pop()
            new = self.needs[each] - found if isinstance(each, Slot) else NONE
            found |= new
            left += new
        return frozenset(found)


@dataclass(frozen=True, slots=True)
class Relation:
    """What a FROM names. A column that is not known is one of `source`, or `rest`, or there is none."""

    name: str
    columns: Mapping[str, Refs] = field(default_factory=dict)
    source: str | None = None
    rest: Refs | None = None

    def column(self, name: str) -> Refs | None:
        other = self.rest if self.source is None else frozenset({Origin(self.source, name)})
        return self.columns.get(name, other)

    @property
    def all(self) -> Refs:
        own = NONE if self.source is None else frozenset({Origin(self.source, ANY)})
        return own.union(self.rest or (), *self.columns.values())


@dataclass(frozen=True, slots=True)
class Scope:
    """What an expression can name. `shadowed`: a column of FROM hides the select list's alias."""

    relations: tuple[Relation, ...] = ()
    outer: Scope | None = None
    ctes: Mapping[str, Block] = field(default_factory=dict)
    aliases: Mapping[str, Refs] = field(default_factory=dict)
    shadowed: bool = True

    @property
    def levels(self) -> tuple[Scope, ...]:
        return (self, *(self.outer.levels if self.outer is not None else ()))

    @property
    def all(self) -> Refs:
        relations = (relation.all for level in self.levels for relation in level.relations)
        return NONE.union(*relations, *self.aliases.values())

    def column(self, parts: list[str]) -> Refs:
        """By its relation, else by its name (what follows are fields of a struct), else anything."""
        for level in self.levels if len(parts) > 1 else ():
            named = [each.column(parts[1]) for each in level.relations if each.name == parts[0]]
            if any(each is not None for each in named):
                return NONE.union(*(each or () for each in named))
        name, found, certain = parts[0], list[Refs](), False
        for level in self.levels:
            known = [each.columns[name] for each in level.relations if name in each.columns]
            found += known or [refs for each in level.relations if (refs := each.column(name)) is not None]
            certain = bool(known)
            if certain:
                break
        if name in self.aliases and not (certain and self.shadowed):
            found.append(self.aliases[name])
        return NONE.union(*found) if found else self.all
