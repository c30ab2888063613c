"""Which strategy is right for an existing data source, and why the others are not.

In: how the new version fits the table of live, what feeds it, and what each way would move. Out:
`Choice`. Called by `datasource`. Invariant: one function a kind of decision; each gives the cheapest
strategy that ends in the same rows as a project built from scratch (or as its forward query says).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.model.manifest import Binding, Source, View
from penstock.model.project import Project
from penstock.plan.changes import Change, MetadataChanged
from penstock.plan.diff import same_query
from penstock.plan.fit import Fit, Transition
from penstock.plan.same import Feeding
from penstock.plan.values import NOTHING, Rejected, Size, Strategy
from penstock.plan.wording import listed, told


@dataclass(frozen=True, slots=True)
class Case:
    """What is decided about. `price` is what computing the views into it from the beginning reads
    (None: not known); `projects` are live's and the next."""

    way: Transition
    fit: Fit
    feeding: Feeding
    changes: tuple[Change, ...]
    price: Size | None
    projects: tuple[Project, Project]

    @property
    def fed(self) -> bool:
        """Whether views write, or wrote, the table."""
        return bool(self.feeding.kept or self.feeding.new or self.feeding.ended)

    @property
    def forward_compiles(self) -> bool:
        return self.way.forward is not None and not self.way.forward.problems


@dataclass(frozen=True, slots=True)
class Choice:
    """`refused`: only a forward query could do it, and there is none."""

    strategy: Strategy
    reason: str
    moves: Size | None = NOTHING
    rejected: tuple[Rejected, ...] = ()
    refused: bool = False


def choose(case: Case) -> Choice:
    """The strategy for a data source that live has."""
    return _choose_fed(case) if case.fed else _choose_landed(case)


def _choose_landed(case: Case) -> Choice:
    """A data source that only takes ingested rows."""
    if not case.fit.blocked:
        return _stay(case)
    if not case.forward_compiles:
        return Choice("forward", f"{_blocked(case)}: needs a FORWARD_QUERY", case.way.run.size, refused=True)
    names = listed(f"`{each.column.name}`" for each in case.fit.blocked)
    in_place = Rejected("in_place", 0, 0, f"the values of {names} have to be computed from the rows there are")
    return Choice("forward", f"{_blocked(case)} by FORWARD_QUERY", case.way.run.size, (in_place,))


def _choose_fed(case: Case) -> Choice:
    """The target of materialized views."""
    if case.feeding.unchanged and not case.fit.blocked:
        return _stay(case)
    cause = causes(case)
    in_place = Rejected("in_place", 0, 0, cause)
    size = case.way.run.size
    obstacle = _no_forward(case)
    if obstacle is None:
        recompute = Rejected("recompute", *_split(case.price), "FORWARD_QUERY keeps the rows there are")
        return Choice("forward", f"{cause}; history by FORWARD_QUERY", size, (in_place, recompute))
    forward = Rejected("forward", *_split(size), obstacle)
    return Choice("recompute", cause, case.price, (in_place, forward))


def _stay(case: Case) -> Choice:
    """The table of live will do."""
    changes = [change for change in case.changes if not isinstance(change, MetadataChanged)]
    if not changes:
        what = listed(told(change) for change in case.changes)
        return Choice("none", f"{what}: no data moves" if what else "unchanged")
    dearer: Strategy = "recompute" if case.fed else "forward"
    price = case.price if case.fed else case.way.run.size
    rejected = Rejected(dearer, *_split(price), "not needed: the table's metadata is enough")
    return Choice("in_place", ", ".join(told(change) for change in changes), NOTHING, (rejected,))


def _no_forward(case: Case) -> str | None:
    """Why a target's history cannot come by its forward query; None if it can."""
    name = case.way.new.name
    if case.way.forward is None:
        if case.way.new.forward_query is not None:
            return f"the FORWARD_QUERY of `{name}` is the one of an earlier step"
        return f"`{name}` has no FORWARD_QUERY"
    if case.way.forward.problems:
        return "its FORWARD_QUERY does not compile"
    for view, live in case.feeding.pairs:
        if live is not None and live.trigger.binding.table != view.trigger.binding.table:
            return f"`{view.trigger.binding.name}` gets a new table, where no flow can go on from live's place"
    return None


def causes(case: Case) -> str:
    """Why a target's rows cannot stay as they are."""
    found = [cause for view, live in case.feeding.replaced for cause in _causes(case, view, live)]
    found += [f"`{view.pipe}` feeds it no longer" for view in case.feeding.removed]
    return listed(found) if found else _blocked(case)


def _causes(case: Case, view: View, live: View | None) -> list[str]:
    if live is None:
        return [f"`{view.pipe}` feeds it now"]
    was = {source.binding.name: source.binding for source in (live.trigger, *live.others)}
    sources = (view.trigger, *view.others)
    found = [f"its source `{source.binding.name}` gets a new table" for source in sources if _is_replaced(source, was)]
    if _query_changed(case, view):
        found.append(f"the query of `{view.pipe}` changed")
    if found:
        return found
    columns = [(source.binding.name, column) for source in sources for column in _changed_columns(source, was)]
    if columns:
        return [f"column `{column}` of its source `{name}` changed" for name, column in columns]
    own = [told(change) for change in case.changes if not isinstance(change, MetadataChanged)]
    return own or [f"what the query of `{view.pipe}` reads changed"]


def _is_replaced(source: Source, was: Mapping[str, Binding]) -> bool:
    before = was.get(source.binding.name)
    return before is not None and before.table != source.binding.table


def _query_changed(case: Case, view: View) -> bool:
    before, after = (project.pipe(view.pipe) for project in case.projects)
    return before is None or after is None or not same_query(before, after)


def _changed_columns(source: Source, was: Mapping[str, Binding]) -> list[str]:
    before = was.get(source.binding.name)
    known = before.columns if before is not None else ()
    return [column.name for column in source.binding.columns if column not in known]


def _blocked(case: Case) -> str:
    return listed(each.reason for each in case.fit.blocked)


def _split(size: Size | None) -> tuple[int | None, int | None]:
    return (size.rows, size.bytes) if size is not None else (None, None)
