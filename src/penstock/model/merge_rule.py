"""Merge rules: how an engine merges the rows that have equal sorting keys.

In: values made by `sql/engines/merge_rules.py`. Out: the closed union `Merge`, which is stored as JSON under the
names of its classes. Invariant: every text is Spark SQL over the logical columns of one binding, or the name of
one; the rule applies to the rows that the binding shows.

`keys` are the expressions of the sorting key: rows are merged where all of them are equal. `partition` is empty
where rows with equal keys certainly lie in one partition; otherwise its expressions make up ClickHouse's partition
id, in whose order FINAL reads the rows (within a partition: in the order of insertion, `_seq`).
"""

from __future__ import annotations

from typing import TypeAlias, Union

from penstock.model.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Replacing:
    """The row with the greatest `version` is shown; among equal versions, or without a version column, the last one."""

    keys: tuple[str, ...]
    version: str | None = None
    deleted: str | None = None
    """The column that marks a row as deleted: if it marks the shown row, none is shown."""
    partition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Summing:
    """Some columns are summed (states and simple aggregates are merged); the others are those of the first row."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    """The summed columns."""
    drops_zeros: bool
    """FINAL omits a row whose sums are all zero. Only set if all `columns` are numbers."""
    partition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Aggregating:
    """States and simple aggregates are merged; the other columns are those of the first row."""

    keys: tuple[str, ...]
    columns: tuple[str, ...]
    """The merged columns."""
    partition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Collapsing:
    """Rows with sign 1 and -1 cancel each other; of the rest FINAL shows the last row with sign 1."""

    keys: tuple[str, ...]
    sign: str
    partition: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class VersionedCollapsing:
    """Within one version, each row cancels the nearest earlier row with the opposite sign that is not cancelled yet;
    FINAL shows the remaining rows."""

    keys: tuple[str, ...]
    sign: str
    version: str
    partition: tuple[str, ...] = ()


Merge: TypeAlias = Union[Replacing, Summing, Aggregating, Collapsing, VersionedCollapsing]
