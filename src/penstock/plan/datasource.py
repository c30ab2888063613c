"""Plan one data source: compare, choose, build, and say what is wrong.

In: `Context` and a name. Out: `Outcome`. Called by `plan`, in the order in which data flows.
Invariant: whatever is wrong, there is an outcome, so that the problems of the data sources below are
found too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.errors import Location, Problem
from penstock.model.datasource import DataSource
from penstock.plan.build import create, move, stay, views_into
from penstock.plan.context import Context, Outcome
from penstock.plan.fit import Fit, Transition, fit
from penstock.plan.flows import Place
from penstock.plan.forward import read_forward
from penstock.plan.hints import forward_hint
from penstock.plan.normal import normal
from penstock.plan.running import Running
from penstock.plan.same import Feeding, compare
from penstock.plan.strategy import Case, Choice, choose
from penstock.plan.wording import counted

ENGINES = ("MergeTree", "AggregatingMergeTree")
"""Engines whose rows are stored as they come and merged by the query that reads them."""


def plan_datasource(context: Context, name: str) -> Outcome:
    """What becomes of a data source of the next version."""
    source = context.project.datasource(name)
    assert source is not None, "asked for data sources of the project only"
    run = context.running(name)
    outcome = create(context, source) if run is None else _existing(context, run, source)
    problems = (*_engine_problems(source), *_ttl_problems(run, source), *outcome.problems)
    return replace(outcome, problems=problems)


def _existing(context: Context, run: Running, source: DataSource) -> Outcome:
    way = Transition(run, source, context.compiled, read_forward(run.source, source))
    fitted = fit(way)
    feeding = _feeding(context, run, way, fitted)
    projects = (context.live.project, context.project)
    choice = choose(Case(way, fitted, feeding, context.changes_of(source.name), context.price(source.name), projects))
    problems = (*_refusals(way, fitted, feeding, choice), *_losses(context, way, fitted, _lost_views(feeding, choice)))
    outcome = _build(context, way, fitted, feeding, choice)
    return replace(outcome, problems=(*outcome.problems, *problems))


def _feeding(context: Context, run: Running, way: Transition, fitted: Fit) -> Feeding:
    """The views into the table of live, were it kept. Views that do not compile count as unchanged:
    their own problems are told, nothing can be said of the data."""
    if context.is_unclear(way.new.name):
        return Feeding(kept=tuple((view, view) for view in run.views))
    return compare(run.views, views_into(context, Place(way.new, run.table.id, fitted.columns), "beginning"))


def _build(context: Context, way: Transition, fitted: Fit, feeding: Feeding, choice: Choice) -> Outcome:
    match choice.strategy:
        case "forward" | "recompute":
            return move(context, way, feeding, choice)
        case _:
            return stay(context, way, fitted, feeding, choice)


def _refusals(way: Transition, fitted: Fit, feeding: Feeding, choice: Choice) -> Iterator[Problem]:
    """Where a forward query is needed and there is none that compiles; a warning where it does not
    compile and is not needed."""
    broken = way.forward.problems if way.forward else ()
    needed = choice.refused or not feeding.unchanged
    yield from (problem if needed else replace(problem, level="warning") for problem in broken)
    if not choice.refused or broken:
        return
    hint = forward_hint(way)
    for each in fitted.blocked:
        before = each.before.type if each.before else None
        yield Problem(
            "needs-forward-query",
            f"column `{each.column.name}` of `{way.new.name}` goes from {before} to {each.column.type}, which does not"
            " hold every value: a FORWARD_QUERY has to say what becomes of the rows there are",
            each.column.location,
            hint,
        )


def _lost_views(feeding: Feeding, choice: Choice) -> tuple[str, ...]:
    """Pipes that feed the data source no longer and whose rows are not kept either."""
    return tuple(view.pipe for view in feeding.removed) if choice.strategy == "recompute" else ()


def _losses(context: Context, way: Transition, fitted: Fit, pipes: tuple[str, ...]) -> Iterator[Problem]:
    """What cannot be had back once the deployment before is retired."""
    if context.options.allow_destructive:
        return
    name, rows = way.new.name, counted(way.run.size.rows if way.run.size else None)
    for column in fitted.match.dropped:
        yield destructive(f"column `{column.name}` of `{name}` is dropped: {rows} lose its value", way.new.location)
    for pipe in pipes:
        yield destructive(f"`{pipe}` feeds `{name}` no longer: what it made of {rows} goes", way.new.location)


def destructive(message: str, location: Location) -> Problem:
    """A change that loses data and was not allowed to."""
    hint = "`--allow-destructive-operations` does it; it can be rolled back until the version before is retired"
    return Problem("destructive-change", message, location, hint)


def _ttl_problems(run: Running | None, source: DataSource) -> Iterator[Problem]:
    """Told once, when the TTL is new."""
    before = run.source.engine.ttl if run else None
    if source.engine.ttl and normal(source.engine.ttl) != normal(before or ""):
        yield Problem(
            "unsupported-ttl",
            f"ENGINE_TTL of `{source.name}` is kept, but deletes no rows in this version",
            source.engine.location("ENGINE_TTL") or source.location,
            level="warning",
        )


def _engine_problems(source: DataSource) -> Iterator[Problem]:
    if source.engine.name not in ENGINES:
        yield Problem(
            "unsupported-engine",
            f"engine {source.engine.name} of `{source.name}` is not in this version",
            source.engine.location("ENGINE") or source.location,
            f"there is: {', '.join(ENGINES)}",
        )


