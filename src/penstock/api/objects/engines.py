"""The engines of tables, by the names and arguments that the field uses.

In: names of columns. Out: frozen values. Invariant: a field is one ENGINE_… directive, so what an engine means and
which columns it may name is said in one place, the parser of datafiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, slots=True)
class TableEngine:
    """What all engines have: the name that ENGINE says."""

    kind: ClassVar[str] = ""


@dataclass(frozen=True, slots=True)
class MergeTreeEngine(TableEngine):
    """Keeps all rows.

    >>> mergetree = OlapTable[Event]("mergetree", OlapConfig(engine=MergeTreeEngine(), order_by_fields=["id"]))
    """

    kind: ClassVar[str] = "MergeTree"


@dataclass(frozen=True, slots=True)
class ReplacingMergeTreeEngine(TableEngine):
    """Keeps the last row of a sorting key, by `ver` if it is given. Queries see all rows without FINAL
    ([engines](engines.md)).

    >>> replacingmergetree = OlapTable[Event](
    ...     "replacingmergetree", OlapConfig(engine=ReplacingMergeTreeEngine(ver="at"), order_by_fields=["id"])
    ... )
    """

    kind: ClassVar[str] = "ReplacingMergeTree"
    ver: str | None = None
    is_deleted: str | None = None


@dataclass(frozen=True, slots=True)
class SummingMergeTreeEngine(TableEngine):
    """Sums the numbers of a sorting key, or those of `columns`.

    >>> class DailyHits(BaseModel):
    ...     page: str
    ...     hits: UInt64
    >>> summingmergetree = OlapTable[DailyHits](
    ...     "summingmergetree", OlapConfig(engine=SummingMergeTreeEngine(["hits"]), order_by_fields=["page"])
    ... )
    """

    kind: ClassVar[str] = "SummingMergeTree"
    columns: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class AggregatingMergeTreeEngine(TableEngine):
    """Merges the states of a sorting key.

    >>> class DailyVisitors(BaseModel):
    ...     page: str
    ...     visitors: Annotated[int, AggregateFunction("uniq", [str])]
    >>> aggregatingmergetree = OlapTable[DailyVisitors](
    ...     "aggregatingmergetree", OlapConfig(engine=AggregatingMergeTreeEngine(), order_by_fields=["page"])
    ... )
    """

    kind: ClassVar[str] = "AggregatingMergeTree"


@dataclass(frozen=True, slots=True)
class CollapsingMergeTreeEngine(TableEngine):
    """Cancels rows by `sign`.

    >>> class SignedEvent(Event):
    ...     sign: Int8
    >>> collapsingmergetree = OlapTable[SignedEvent](
    ...     "collapsingmergetree", OlapConfig(engine=CollapsingMergeTreeEngine(sign="sign"), order_by_fields=["id"])
    ... )
    """

    kind: ClassVar[str] = "CollapsingMergeTree"
    sign: str = ""


@dataclass(frozen=True, slots=True)
class VersionedCollapsingMergeTreeEngine(TableEngine):
    """Cancels rows by `sign` and `ver`, in whatever order they arrive.

    >>> class VersionedEvent(Event):
    ...     sign: Int8
    >>> engine = VersionedCollapsingMergeTreeEngine(sign="sign", ver="at")
    >>> versioned = OlapTable[VersionedEvent]("versioned", OlapConfig(engine=engine, order_by_fields=["id"]))
    """

    kind: ClassVar[str] = "VersionedCollapsingMergeTree"
    sign: str = ""
    ver: str = ""


@dataclass(frozen=True, slots=True)
class NullEngine(TableEngine):
    """Keeps no row; views read those that arrive.

    >>> passing = OlapTable[Event]("passing", OlapConfig(engine=NullEngine()))
    """

    kind: ClassVar[str] = "Null"
