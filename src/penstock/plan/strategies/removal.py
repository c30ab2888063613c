"""What the next version no longer has: data sources, pipes, and dropped columns that a pipe still reads.

In: `PlanningContext`. Out: `ResourcePlan`s and problems. Invariant: what is removed stays in place until the version
before is retired; the planner deletes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.errors import Problem, did_you_mean
from penstock.model.datasource import DataSource
from penstock.model.project import Project
from penstock.plan.compiled_project import compile_project
from penstock.plan.diff.changes import join_words, rows_text
from penstock.plan.diff.column_matching import find_former_names, match_columns
from penstock.plan.diff.forward_columns import read_forward_query
from penstock.plan.diff.resource_kinds import pipe_kind
from penstock.plan.diff.rollback import REMOVED_REASON, Rollback
from penstock.plan.plan import NOTHING, ResourcePlan
from penstock.plan.strategies.deletion_protection import is_loss_refused, loss_problem
from penstock.plan.strategies.planning_context import PlanningContext
from penstock.plan.tables.running_datasource import RunningDataSource, find_running

_LIKENESS = 2 / 3
"""How many of their columns two data sources share if one may be the other under a new name."""
REASON = "removed: dropped when the previous version is retired"


def removed_resources(context: PlanningContext) -> Iterator[ResourcePlan]:
    """The resources of the live version that the next version does not have."""
    for source in _removed_datasources(context):
        running = find_running(context.live, source.name)
        is_kept = running is not None and _goes_on_elsewhere(context, running)
        lost = NOTHING if is_kept else running.size if running is not None else None
        kept = Rollback(True, REMOVED_REASON)
        yield ResourcePlan(source.name, "datasource", "drop", REASON, rollback=kept, lost=lost)
    for pipe in context.live.project.pipes:
        if context.project.pipe(pipe.name) is None:
            yield ResourcePlan(pipe.name, pipe_kind(pipe), "drop", "removed")


def removal_problems(context: PlanningContext) -> Iterator[Problem]:
    """Data that would be deleted, and dropped columns that a pipe still reads."""
    yield from _dropped_columns_in_use(context)
    yield from unknown_renames(context.live.project, context.project)
    for source in _removed_datasources(context):
        if not is_loss_refused(source, allowed=context.options.allow_destructive):
            yield from _silent_renames(context, source)
            continue
        running = find_running(context.live, source.name)
        rows = rows_text(running.size.rows if running and running.size else None)
        problem = loss_problem(f"`{source.name}` is removed: {rows} would be dropped", source.location, source)
        yield replace(problem, hint=f"{_rename_hint(context, source)}{problem.hint}")


def _rename_hint(context: PlanningContext, removed: DataSource) -> str:
    """A hint to use RENAMED_FROM, where a new data source has nearly the columns of a removed one."""
    alike = _find_alike(context, removed)
    return f"if `{alike.name}` is its new name, add RENAMED_FROM {removed.name} there; " if alike is not None else ""


def _silent_renames(context: PlanningContext, removed: DataSource) -> Iterator[Problem]:
    """A warning where a data source that may be removed looks as if it were renamed."""
    alike = _find_alike(context, removed)
    running = find_running(context.live, removed.name)
    if alike is not None and (running is None or not _goes_on_elsewhere(context, running)):
        message = f"`{removed.name}` is removed, and `{alike.name}` is new with nearly the same columns"
        hint = f"if that is its new name, add RENAMED_FROM {removed.name} there: it keeps the rows"
        yield Problem("looks-renamed", message, alike.location, hint, "warning")


def _goes_on_elsewhere(context: PlanningContext, removed: RunningDataSource) -> bool:
    """Whether a data source of another name begins with all rows of a removed one, and with all its columns."""
    width = len(removed.source.columns)
    clones = (each for each in context.done.values() if each.clone is not None and each.clone.of == removed.table.id)
    return any(len(each.binding.columns) == width for each in clones)


def _find_alike(context: PlanningContext, removed: DataSource) -> DataSource | None:
    """The new data source whose columns are most like those of a removed one; None if they are not much alike."""
    new = [source for source in context.project.datasources if source.name not in context.former]
    found = max(new, key=lambda source: _likeness(source, removed), default=None)
    return found if found is not None and _likeness(found, removed) >= _LIKENESS else None


def _likeness(some: DataSource, other: DataSource) -> float:
    """The part of all their columns that both have, with the same type."""
    columns = [{(column.name, column.type) for column in source.columns} for source in (some, other)]
    return len(columns[0] & columns[1]) / max(len(columns[0] | columns[1]), 1)


def unknown_renames(live: Project, project: Project) -> Iterator[Problem]:
    """Warnings for data sources whose RENAMED_FROM is new and names none of live; none if live has no data source."""
    for source in project.datasources if live.datasources else ():
        former, same = source.renamed_from, live.datasource(source.name)
        if former is None or former == source.name or (same is not None and same.renamed_from == former):
            continue
        if live.datasource(former) is None:
            kept = set(find_former_names(live, project).values())
            gone = [each.name for each in live.datasources if each.name not in kept]
            message = (
                f"`{source.name}` is RENAMED_FROM `{former}`, and live has no such data source: nothing is renamed"
            )
            yield Problem("unknown-rename", message, source.location, did_you_mean(former, gone), "warning")


def _removed_datasources(context: PlanningContext) -> tuple[DataSource, ...]:
    kept = set(context.former.values())
    return tuple(source for source in context.live.project.datasources if source.name not in kept)


def _dropped_columns_in_use(context: PlanningContext) -> Iterator[Problem]:
    """Dropped columns that were read by pipes which no longer compile. The problem of such a pipe has the place in its
    SQL; this problem has the place of the column and names all its readers."""
    dropped = [
        (source, column.name)
        for source in context.project.datasources
        if (old := context.live.project.datasource(context.former.get(source.name, ""))) is not None
        for column in match_columns(old, source, read_forward_query(old, source)).dropped
    ]
    if not dropped or not context.compiled.failed:
        return
    before = compile_project(context.live.project, context.compiled.failed).reads
    for source, column in dropped:
        former = context.former[source.name]
        readers = [
            f"`{pipe}`"
            for pipe in sorted(context.compiled.failed)
            if any(read.datasource == former and column in read.columns for read in before.get(pipe, ()))
        ]
        if readers:
            read = f"{join_words(readers)} {'read' if readers[1:] else 'reads'} it"
            message = f"column `{column}` of `{source.name}` is dropped, but {read}"
            yield Problem("column-is-read", message, source.location, "keep the column, or change what reads it")
