"""Calls the functions that are views, once each, and takes what they say as SQL.

In: declared views that are functions. Out: `ViewSql` for each, or its problem. Invariants: a function that fails hides
no other one's problem; DataFrames, and PySpark with them, are loaded only for a view that has some.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from dataclasses import field
from importlib import import_module
from typing import Any, Protocol

from penstock.api.objects.columns import columns_of
from penstock.api.objects.declarations import CallLocation, Declared, Modelled
from penstock.api.objects.view_functions import ViewFunction
from penstock.api.project.datafile_text import sql_lines
from penstock.api.project.source_files import LinePlace, SourceFiles
from penstock.api.project.user_errors import problem_of
from penstock.errors import Problem
from penstock.model.pipe import Dialect
from penstock.model.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ViewSql:
    """The SQL that a function gave, and where its lines come from."""

    lines: tuple[str, ...]
    places: tuple[LinePlace, ...]
    dialect: Dialect


@dataclass
class ViewCalls:
    """What the functions of a project gave, by the view, and what was wrong."""

    found: dict[Declared, ViewSql] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


class _Line(Protocol):
    text: str
    made_by: CallLocation


def call_view_functions(declared: Iterable[Declared], sources: SourceFiles, module: str) -> ViewCalls:
    """Call the functions among the objects of a project."""
    calls = ViewCalls()
    for each in [one for one in declared if isinstance(one, ViewFunction)]:
        try:
            calls.found[each] = _over_frames(each, sources) if each.takes_frames else _given_sql(each, sources)
        except BaseException as error:  # SystemExit of a function is its error, too
            problem = problem_of(error, sources, module)
            where = problem.location or sources.call_location(each.location)
            calls.problems.append(Problem(problem.code, problem.message, where, problem.hint))
    return calls


def _given_sql(view: ViewFunction[Any], sources: SourceFiles) -> ViewSql:
    text = view.function()
    if not isinstance(text, str):
        raise TypeError(f"`{view.name}` must return SQL as a str, not a {type(text).__name__}")
    lines = sql_lines(text)
    code = view.function.__code__
    _, first = inspect.getsourcelines(view.function)
    last = max((line for _, _, line in code.co_lines() if line is not None), default=first)
    return ViewSql(tuple(lines), tuple(sources.lines_between(code.co_filename, lines, (first, last))), "clickhouse")


def _over_frames(view: ViewFunction[Any], sources: SourceFiles) -> ViewSql:
    """The SQL of a function over DataFrames."""
    recorded = import_module("penstock.api.dataframes.view_query")  # it loads PySpark
    columns = [(each.ref, _columns(each, view)) for each in view.sources]
    lines: list[_Line] = recorded.view_lines(view.function, view.name, columns, view.location)
    places = [LinePlace(sources.call_location(each.made_by)) for each in lines]
    return ViewSql(tuple(each.text for each in lines), tuple(places), "spark")


def _columns(source: Declared, view: ViewFunction[Any]) -> tuple[str, ...]:
    if not isinstance(source, Modelled):
        raise TypeError(f"the source `{source.ref}` of `{view.name}` has no model: a DataFrame is of a table")
    return tuple(each.field for each in columns_of(source.row_model) if each.text)
