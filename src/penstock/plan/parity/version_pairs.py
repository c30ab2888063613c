"""Which tables, columns and endpoints of two versions are compared with which.

In: two versions: project and manifest. Out: `TablePair`s and names of endpoints. Invariant: a column is compared with
the one that it continues by the rules of the planner, whatever their names; a name that only one version has is listed
and never compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.model.manifest import Binding, BoundColumn, Manifest
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.plan.diff.column_matching import find_former_names, match_columns
from penstock.plan.diff.forward_columns import read_forward_query

QUARANTINE_COLUMNS = ("raw",)
"""What is compared of a rejected row: each table has its own time of arrival, and each version its own reasons."""


@dataclass(frozen=True, slots=True)
class ComparedVersion:
    """One of the two versions."""

    id: int
    project: Project
    manifest: Manifest


@dataclass(frozen=True, slots=True)
class ColumnPair:
    """A column of the left version and the one of the right version that holds the same."""

    left: BoundColumn
    right: BoundColumn

    @property
    def name(self) -> str:
        """Its name on the right, with the one on the left if that is another."""
        return self.right.name if self.left.name == self.right.name else f"{self.left.name} → {self.right.name}"

    @property
    def names(self) -> frozenset[str]:
        return frozenset({self.left.name, self.right.name})

    def flipped(self) -> ColumnPair:
        return ColumnPair(self.right, self.left)


@dataclass(frozen=True, slots=True)
class TablePair:
    """A data source, or a quarantine, as the two versions have it."""

    left: Binding | None
    right: Binding | None
    columns: tuple[ColumnPair, ...] = ()
    only_left: tuple[str, ...] = ()
    """The columns that only one of them has."""
    only_right: tuple[str, ...] = ()
    quarantine: bool = False

    @property
    def name(self) -> str:
        """Its name on the right, if it is there."""
        bound = self.right or self.left
        assert bound is not None, "a pair has a side"
        return bound.name

    @property
    def names(self) -> frozenset[str]:
        return frozenset(bound.name for bound in (self.left, self.right) if bound is not None)

    def flipped(self) -> TablePair:
        columns = tuple(pair.flipped() for pair in self.columns)
        return TablePair(self.right, self.left, columns, self.only_right, self.only_left, self.quarantine)


@dataclass(frozen=True, slots=True)
class EndpointNames:
    """The endpoints of two versions."""

    both: tuple[str, ...]
    only_left: tuple[str, ...]
    only_right: tuple[str, ...]


def pair_tables(left: ComparedVersion, right: ComparedVersion) -> tuple[TablePair, ...]:
    """The data sources of two versions, and their quarantines, by name."""
    if left.id <= right.id:
        found = _pair_with_newer(left, right)
    else:
        found = [pair.flipped() for pair in _pair_with_newer(right, left)]
    return tuple(sorted(found, key=lambda pair: (pair.quarantine, pair.name)))


def pair_two_tables(left: Binding, right: Binding) -> TablePair:
    """Two data sources of one version, column by column of the same name."""
    columns = tuple(ColumnPair(other, each) for each in right.columns if (other := left.column(each.name)) is not None)
    both = {each.right.name for each in columns}
    return TablePair(
        left,
        right,
        columns,
        tuple(each.name for each in left.columns if each.name not in both),
        tuple(each.name for each in right.columns if each.name not in both),
    )


def pair_endpoints(left: Project, right: Project) -> EndpointNames:
    """The endpoints that both versions have, and those that one has."""
    one, other = ({pipe.name for pipe in each.pipes if pipe.endpoint is not None} for each in (left, right))
    return EndpointNames(tuple(sorted(one & other)), tuple(sorted(one - other)), tuple(sorted(other - one)))


def _pair_with_newer(old: ComparedVersion, new: ComparedVersion) -> list[TablePair]:
    former = find_former_names(old.project, new.project)
    pairs = [_pair_datasource(old, new, former.get(bound.name, bound.name), bound) for bound in new.manifest.bindings]
    pairs += _unpaired(old.manifest.bindings, pairs)
    quarantines = [
        _pair_quarantine(_quarantine(old.manifest, former, bound.name), bound) for bound in new.manifest.quarantines
    ]
    quarantines += _unpaired(old.manifest.quarantines, quarantines)
    return [*pairs, *(replace(pair, quarantine=True) for pair in quarantines)]


def _unpaired(bindings: Iterable[Binding], pairs: Iterable[TablePair]) -> list[TablePair]:
    """The bindings of the old version that no pair has."""
    known = {pair.left.name for pair in pairs if pair.left is not None}
    return [TablePair(bound, None) for bound in bindings if bound.name not in known]


def _quarantine(old: Manifest, former: Mapping[str, str], name: str) -> Binding | None:
    source = name.removesuffix("_quarantine")
    return old.binding(f"{former.get(source, source)}_quarantine")


def _pair_quarantine(left: Binding | None, right: Binding) -> TablePair:
    if left is None:
        return TablePair(None, right)
    columns = ((left.column(name), right.column(name)) for name in QUARANTINE_COLUMNS)
    return TablePair(left, right, tuple(ColumnPair(one, other) for one, other in columns if one and other))


def _pair_datasource(old: ComparedVersion, new: ComparedVersion, former: str, right: Binding) -> TablePair:
    left = old.manifest.binding(former)
    if left is None:
        return TablePair(None, right)
    before = _origins(old.project, new.project, former, right)
    found = ((left.column(before.get(column.name, "")), column) for column in right.columns)
    columns = tuple(ColumnPair(one, other) for one, other in found if one is not None)
    taken, continued = {pair.left.name for pair in columns}, {pair.right.name for pair in columns}
    return TablePair(
        left,
        right,
        columns,
        tuple(column.name for column in left.columns if column.name not in taken),
        tuple(column.name for column in right.columns if column.name not in continued),
    )


def _origins(old: Project, new: Project, former: str, right: Binding) -> Mapping[str, str]:
    """By column of the new version, the column of the old one that it continues."""
    before, after = old.datasource(former), new.datasource(right.name)
    if before is None or after is None:
        return {column.name: column.name for column in right.columns}
    match = match_columns(before, after, read_forward_query(before, after))
    return {column.name: origin.name for column, origin in match.pairs if origin is not None}
