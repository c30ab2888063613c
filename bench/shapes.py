"""Data sources and views as generated projects have them: 50 columns, in chains, fans and diamonds.

In: a name and dice. Out: `Module`. A module is a project that deploys, and the same throws of the dice give the same
module.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

DIMENSIONS, STATES = 7, 42
TYPES = (
    "UInt32",
    "Int64",
    "Float64",
    "Nullable(Float64)",
    "Decimal(18, 4)",
    "UInt16",
    "Nullable(Int32)",
    "UInt64",
    "LowCardinality(Nullable(String))",
    "DateTime",
    "Array(String)",
    "Nullable(DateTime)",
    "Bool",
    "Date",
    "DateTime64(3)",
    "String",
    "UUID",
    "Enum8('new' = 1, 'paid' = 2, 'sent' = 3)",
)
NUMBERS = frozenset(TYPES[:8])
WORDS = (
    "price",
    "clicks",
    "delay",
    "amount",
    "visits",
    "weight",
    "score",
    "length",
    "rating",
    "stock",
    "margin",
    "tax",
)


@dataclass(frozen=True, slots=True)
class Column:
    """A line of a SCHEMA; `more` is what stands behind the type."""

    name: str
    type: str
    more: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """A .datasource file. `folder` is where it lies, `note` a comment at its beginning."""

    name: str
    columns: tuple[Column, ...]
    key: str
    engine: str = "MergeTree"
    forward: str = ""
    note: str = ""
    folder: str = "datasources"

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}.datasource"

    @property
    def text(self) -> str:
        schema = ",\n".join(f"    `{each.name}` {each.type} {each.more}".rstrip() for each in self.columns)
        forward = f"\nFORWARD_QUERY >\n    {self.forward}\n" if self.forward else ""
        return f"{self.note}SCHEMA >\n{schema}\n\nENGINE {self.engine}\nENGINE_SORTING_KEY {self.key}\n{forward}"


@dataclass(frozen=True, slots=True)
class View:
    """A .pipe file with one materialized node; `items` are the columns as SQL and name."""

    name: str
    reads: str
    target: str
    items: tuple[tuple[str, str], ...]
    where: str
    group: str = ""
    note: str = ""
    folder: str = "materializations"
    between: str = ",\n        "

    @property
    def path(self) -> str:
        return f"{self.folder}/{self.name}.pipe"

    @property
    def text(self) -> str:
        items = self.between.join(sql if sql == name else f"{sql} AS {name}" for sql, name in self.items)
        group = f"\n    GROUP BY {self.group}" if self.group else ""
        sql = f"    SELECT {items}\n    FROM {self.reads}\n    WHERE {self.where}{group}"
        return f"{self.note}NODE rows\nSQL >\n{sql}\n\nTYPE materialized\nDATASOURCE {self.target}\n"


@dataclass(frozen=True, slots=True)
class Module:
    """A landing and all that derives from it."""

    sources: tuple[Source, ...]
    views: tuple[View, ...]

    @property
    def size(self) -> int:
        return len(self.sources) + len(self.views)


def landing(name: str, dice: random.Random) -> Source:
    """50 columns: a key, a time, dimensions and measures of all types, each from its JSON path."""
    columns = [Column("id", "String"), Column("timestamp", "DateTime")]
    columns += [Column(f"dimension_{at}", "LowCardinality(String)") for at in range(DIMENSIONS)]
    kinds = [*TYPES, *(dice.choice(TYPES) for _ in range(50 - len(columns) - len(TYPES)))]
    columns += [Column(f"{dice.choice(WORDS)}_{at}", kind) for at, kind in enumerate(kinds)]
    return Source(name, tuple(replace(each, more=f"`json:$.{each.name}`") for each in columns), "timestamp, id")


def projection(source: Source, name: str, dice: random.Random) -> tuple[Source, View]:
    """All columns as they are, of the rows that a filter lets through."""
    items = tuple((each.name, each.name) for each in source.columns)
    columns = tuple(replace(each, more="") for each in source.columns)
    return Source(name, columns, source.key), View(f"{name}_mv", source.name, name, items, _filter(dice))


def rollup(source: Source, name: str, dice: random.Random) -> tuple[Source, View]:
    """A day's states by the dimensions."""
    keys = [("toDate(timestamp)", "day"), *((f"dimension_{at}",) * 2 for at in range(DIMENSIONS))]
    columns = [Column("day", "Date"), *(Column(key, "LowCardinality(String)") for _, key in keys[1:])]
    items = list(keys)
    numbers = [each for each in source.columns if each.type in NUMBERS]
    pairs = [(function, each) for each in numbers for function in ("sum", "max", "avg", "min", "uniq")]
    for function, each in pairs[: STATES - 1]:
        items.append((f"{function}State({each.name})", f"{function}_{each.name}"))
        columns.append(Column(items[-1][1], f"AggregateFunction({function}, {each.type})"))
    items.append(("countState()", "total"))
    columns.append(Column("total", "AggregateFunction(count)"))
    target = Source(name, tuple(columns), "day, dimension_0", "AggregatingMergeTree")
    return target, View(f"{name}_mv", source.name, name, tuple(items), _filter(dice), _listed(keys))


def coarser(source: Source, name: str, dice: random.Random) -> tuple[Source, View]:
    """A month's states of a day's, by the dimensions."""
    items = [("toStartOfMonth(day)", "month"), *((each.name,) * 2 for each in source.columns[1 : DIMENSIONS + 1])]
    group = _listed(items)
    columns = (Column("month", "Date"), *source.columns[1:])
    for each in source.columns[DIMENSIONS + 1 :]:
        function = each.type.partition("(")[2].partition(",")[0].rstrip(")")
        items.append((f"{function}MergeState({each.name})", each.name))
    target = replace(source, name=name, columns=columns, key="month, dimension_0")
    return target, View(f"{name}_mv", source.name, name, tuple(items), _filter(dice), group)


def _filter(dice: random.Random) -> str:
    return f"dimension_{dice.randrange(DIMENSIONS)} != '{dice.choice(WORDS)}'"


def _listed(keys: Sequence[tuple[str, str]]) -> str:
    return ", ".join(name for _, name in keys)


def chain(name: str, dice: random.Random) -> Module:
    """Projection after projection, then days, then months."""
    sources, views = [landing(name, dice)], []
    for at, step in enumerate((*[projection] * dice.randint(2, 6), rollup, coarser)):
        target, view = step(sources[-1], f"{name}_{at}", dice)
        sources.append(target)
        views.append(view)
    return Module(tuple(sources), tuple(views))


def fan(name: str, dice: random.Random) -> Module:
    """Many views of one landing."""
    first = landing(name, dice)
    made = [dice.choice((projection, rollup))(first, f"{name}_{at}", dice) for at in range(dice.randint(4, 16))]
    return Module((first, *(target for target, _ in made)), tuple(view for _, view in made))


def diamond(name: str, dice: random.Random) -> Module:
    """Two projections that meet again in one data source."""
    first = landing(name, dice)
    left, to_left = projection(first, f"{name}_left", dice)
    right, to_right = projection(first, f"{name}_right", dice)
    both, from_left = rollup(left, f"{name}_both", dice)
    from_right = replace(from_left, name=f"{name}_both_too", reads=right.name)
    return Module((first, left, right, both), (to_left, to_right, from_left, from_right))
