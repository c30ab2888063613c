"""What the plan of one data source may look at, and what it answers.

In: values of `plan`. Out: `Context`, `Outcome`. Called by the modules that plan one resource.
Invariant: an outcome holds all that its data source adds to the manifest and to the steps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.errors import Problem
from penstock.model.datasource import DataSource
from penstock.model.manifest import Binding, Flow, Table
from penstock.model.project import Project
from penstock.plan.changes import Change
from penstock.plan.compiled import Compiled
from penstock.plan.running import Running, running
from penstock.plan.steps import Step
from penstock.plan.values import NOTHING, Live, PlanOptions, ResourcePlan, Size


@dataclass(frozen=True, slots=True)
class Outcome:
    """One planned data source. `holds` is how much its table has, at most; None if not known."""

    resource: ResourcePlan
    tables: tuple[Table, ...]
    binding: Binding
    quarantined: Binding
    flows: tuple[Flow, ...]
    steps: tuple[Step, ...]
    holds: Size | None
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The two versions, and the outcomes of the data sources planned so far, by name. `former` has
    the live name of each data source that live has."""

    live: Live
    project: Project
    options: PlanOptions
    compiled: Compiled
    former: Mapping[str, str]
    changes: tuple[Change, ...]
    done: Mapping[str, Outcome]

    def running(self, name: str) -> Running | None:
        """The data source of the next version as it runs now."""
        former = self.former.get(name)
        return running(self.live, former) if former is not None else None

    def changes_of(self, name: str) -> tuple[Change, ...]:
        return tuple(change for change in self.changes if change.resource == name)

    def new_table(self, source: DataSource) -> str:
        """The name of a new physical table for a data source."""
        return f"{source.name}__{self.options.suffix}"

    @property
    def bindings(self) -> Mapping[str, Binding]:
        return {name: outcome.binding for name, outcome in self.done.items()}

    def price(self, name: str) -> Size | None:
        """What computing the views into a data source from the beginning reads."""
        total = NOTHING
        for view in self.compiled.feeders(name):
            source = self.done[view.trigger.datasource].holds
            if source is None:
                return None
            total += source
        return total

    def is_unclear(self, name: str) -> bool:
        """Whether a pipe that feeds the data source does not compile: then its flows say nothing."""
        pipes = (pipe for pipe in self.project.pipes if pipe.name in self.compiled.failed)
        return any(pipe.name in {each.name for each, _ in self.project.feeders(name)} for pipe in pipes)
