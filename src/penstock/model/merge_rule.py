"""How the rows of a table with equal sorting keys become one: the merge rule of its engine.

In: made by `sql.merge_rules`. Out: the closed union `Merge`. Called by plan, state, lake and deploy.
Invariant: everything is Spark SQL over, or a name of, a logical column of one binding; the rule acts
on what that binding shows.

`keys` are the parts of the sorting key: rows are merged where all are equal. `partition` is empty
where rows of equal keys lie in one partition for certain; else its parts make up ClickHouse's
partition id, in whose order FINAL meets the rows (within it: in the order of insertion, `_seq`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias, Union


@dataclass(frozen=True, slots=True)
class Replacing:
    """The row with the greatest version stays, of equal ones (or without a version) the last; none if
    it is deleted."""

    keys: tuple[str, ...]
    version: str | None = None
    deleted: str | None = None
    partition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summing:
    """`columns` are summed (states and simple aggregates merged); the others are those of the first
    row. FINAL leaves out a row whose sums are all zero, if `drops_zeros`: all `columns` are numbers."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    drops_zeros: bool
    partition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregating:
    """`columns`, states and simple aggregates, are merged; the others are those of the first row."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    partition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Collapsing:
    """Rows with sign 1 and -1 cancel each other: of what is left over FINAL shows the last row with 1."""

    keys: tuple[str, ...]
    sign: str
    partition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionedCollapsing:
    """Within one version each row cancels the nearest one before it that has the other sign and is
    not cancelled yet; FINAL shows all others."""

    keys: tuple[str, ...]
    sign: str
    version: str
    partition: tuple[str, ...] = ()


Merge: TypeAlias = Union[Replacing, Summing, Aggregating, Collapsing, VersionedCollapsing]
