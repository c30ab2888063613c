"""Which resources a change can reach. Only these are compiled and planned; all others stay as they are.

In: two projects, the changes between them and the requested strategies. Out: `ChangeImpact`. Invariant: a resource
out of reach is the same in both versions, and so is everything upstream of it, except for columns that its SQL does
not name; planning it too would give the same plan. In doubt a resource is in reach: that costs time only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from penstock.model.datasource import DataSource
from penstock.model.graph import Graph, walk
from penstock.model.pipe import Materialized
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.plan.diff.changes import Change, ResourceRenamed, changed_columns
from penstock.plan.diff.column_matching import find_former_names
from penstock.plan.diff.forward_columns import keeps_values, read_forward_query
from penstock.plan.diff.sql_words import SqlText, names_in_sql, read_sql_text
from penstock.plan.diff.ttl_and_final import NULL_ENGINE
from penstock.sql.query import ForwardColumn

_NONDETERMINISTIC = re.compile(
    r"\b(now|now64|today|yesterday|rand\w*|generate\w+|current_\w+|curdate)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ChangeImpact:
    """The resources that a change can reach."""

    reached: frozenset[str]
    """The resources of the next version to be planned."""
    graph: Graph
    """What each resource may read: a data source the materialized views that write it, a pipe the resources whose names
    occur in its SQL."""

    def has(self, name: str) -> bool:
        return name in self.reached


def find_impact(
    before: Project,
    after: Project,
    changes: Iterable[Change],
    strategies: Collection[str],
    rebuilt: Collection[str] = (),
) -> ChangeImpact:
    """The resources that the changes between two projects, and the data sources that are `rebuilt`, can reach."""
    texts = {pipe.name: read_sql_text(pipe) for pipe in after.pipes}
    names = frozenset(after.names)
    known = names | frozenset(before.names)
    named = {name: (text.words & known) - {name} for name, text in texts.items()}
    graph = _build_graph(after, named)
    narrow = _find_narrow_changes(before, after, changes, strategies)
    changed = {change.resource for change in changes}
    starts = changed | set(_vanished_names(before, after, changes)) | (set(strategies) if changed else set())
    starts |= set(rebuilt)
    reached = frozenset(walk(starts, lambda name: _affected_readers(graph, name, narrow, texts)))
    return ChangeImpact(frozenset(_with_feeders(after, reached & names)), graph)


def full_impact(project: Project) -> ChangeImpact:
    """The impact in which every resource of a project is reached."""
    names = frozenset(project.names)
    named = {pipe.name: names_in_sql(pipe, names) - {pipe.name} for pipe in project.pipes}
    return ChangeImpact(names, _build_graph(project, named))


def with_upstream(project: Project, names: Collection[str]) -> frozenset[str]:
    """The resources with everything they may derive from and, for a view, the data source it feeds."""
    known = frozenset(project.names)

    def read_by(name: str) -> set[str]:
        pipe = project.pipe(name)
        read = {feeder.name for feeder, _ in project.feeders(name)}
        if pipe is not None:
            read |= read_sql_text(pipe).words & known
            read |= {node.kind.datasource for node in pipe.nodes if isinstance(node.kind, Materialized)} & known
        return read

    return frozenset(walk(known.intersection(names), read_by))


def _build_graph(project: Project, named: Mapping[str, frozenset[str]]) -> Graph:
    arrows: dict[str, set[str]] = {name: set(reads) for name, reads in named.items()}
    for pipe in project.pipes:
        node = pipe.materialized
        if node is not None and isinstance(node.kind, Materialized):
            arrows.setdefault(node.kind.datasource, set()).add(pipe.name)
    return Graph.of(arrows)


def _vanished_names(before: Project, after: Project, changes: Iterable[Change]) -> Iterable[str]:
    """Former names, and the targets that a removed pipe fed."""
    for change in changes:
        if isinstance(change, ResourceRenamed):
            yield change.old
        pipe = before.pipe(change.resource)
        node = pipe.materialized if pipe is not None and after.pipe(pipe.name) is None else None
        if node is not None and isinstance(node.kind, Materialized):
            yield node.kind.datasource


def _find_narrow_changes(
    before: Project, after: Project, changes: Iterable[Change], strategies: Collection[str]
) -> Mapping[str, frozenset[str]]:
    """The changed columns of data sources that keep their table and in which only some columns change."""
    found: dict[str, set[str]] = {}
    for change in changes:
        found.setdefault(change.resource, set()).update(changed_columns(change))
    former = find_former_names(before, after)
    sources = {name: (before.datasource(name), after.datasource(name)) for name in found if former.get(name) == name}
    for name, (old, new) in sources.items():
        found[name] |= _recomputed_columns(old, new)
        for version in (old, new):
            found[name] |= _dependent_columns(version, found[name])
    return {
        name: frozenset(found[name])
        for name, versions in sources.items()
        if name not in strategies and _keeps_its_table(*versions)
        if not after.feeders(name) and not before.feeders(name)
    }


def _recomputed_columns(before: DataSource | None, after: DataSource | None) -> set[str]:
    """The columns to which a forward query of this step gives other values, whatever their type."""
    forward = read_forward_query(before, after) if before is not None and after is not None else None
    if forward is None or before is None or after is None:
        return set()
    if forward.problems:
        return set(after.column_names)
    return {
        forward_column.name for forward_column in forward.columns if not _keeps_column(forward_column, before, after)
    }


def _dependent_columns(source: DataSource | None, changed: Collection[str]) -> set[str]:
    """The changed columns, and those whose DEFAULT may read one of these, directly or through others."""
    known = set(changed)
    defaults = {
        column.name: SqlText.of(column.default.text) for column in (source.columns if source else ()) if column.default
    }
    while more := [
        name for name, text in defaults.items() if name not in known and any(text.may_read(each) for each in known)
    ]:
        known.update(more)
    return known


def _keeps_column(forward_column: ForwardColumn, before: DataSource, after: DataSource) -> bool:
    origin, column = before.column(forward_column.name), after.column(forward_column.name)
    return origin is not None and column is not None and keeps_values(forward_column, origin, column.type)


def _keeps_its_table(before: DataSource | None, after: DataSource | None) -> bool:
    if before is None or after is None:
        return False
    if (before.engine.name == NULL_ENGINE) != (after.engine.name == NULL_ENGINE):
        return False  # a reader sees all of its rows or none
    return after.forward_query is None or not _NONDETERMINISTIC.search(after.forward_query.text)


def _affected_readers(
    graph: Graph, name: str, narrow: Mapping[str, frozenset[str]], texts: Mapping[str, SqlText]
) -> Iterable[str]:
    columns = narrow.get(name)
    for reader in graph.readers(name):
        text = texts.get(reader)
        if columns is None or text is None or any(map(text.may_read, columns)) or text.every:
            yield reader


def _with_feeders(project: Project, reached: Iterable[str]) -> Iterable[str]:
    """The reached resources with the pipes that feed a reached data source: these are compiled with it."""
    for name in reached:
        yield name
        yield from (pipe.name for pipe, _ in project.feeders(name))
