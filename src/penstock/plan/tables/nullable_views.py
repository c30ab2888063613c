"""The views into a data source as they would be if some columns could be NULL.

In: a compiled project, and columns. Out: compiled views, or None where they do not compile so. Invariant: nothing but
these columns, and what the SQL makes of their types, differs from the views of the project.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from penstock.errors import InvalidQuery
from penstock.model.datasource import Column, DataSource
from penstock.model.project import Project
from penstock.model.types import LowCardinality, Nullable, SimpleAggregateFunction, Type, is_nullable
from penstock.plan.compiled_project import CompiledProject
from penstock.plan.diff.project_queries import ProjectQueries
from penstock.sql.query import CompiledView


def feeders_with_null(
    compiled: CompiledProject, target: str, columns: Mapping[str, Collection[str]]
) -> tuple[CompiledView, ...] | None:
    """The views into a data source where `columns`, by data source, may be NULL."""
    project = compiled.project
    sources = (_with_null(each, columns.get(each.name, ())) for each in project.datasources)
    queries = ProjectQueries(Project.of(sources, project.pipes))
    try:
        views = [queries.view(pipe) for pipe, _ in project.feeders(target)]
    except InvalidQuery:
        return None
    return tuple(view for view in views if view is not None)


def _with_null(source: DataSource, names: Collection[str]) -> DataSource:
    if not names:
        return source
    return replace(source, columns=tuple(_nullable_column(c) if c.name in names else c for c in source.columns))


def _nullable_column(column: Column) -> Column:
    return replace(column, type=_nullable_type(column.type))


def _nullable_type(of: Type) -> Type:
    if is_nullable(of):
        return of
    match of:
        case LowCardinality(inner):
            return LowCardinality(_nullable_type(inner))
        case SimpleAggregateFunction(function, inner):
            return SimpleAggregateFunction(function, _nullable_type(inner))
        case _:
            return Nullable(of)
