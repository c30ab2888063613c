"""What the planner of one data source may read, and what it returns.

`PlanningContext` has the two versions and the data sources planned so far; `PlannedDataSource` is one of these.
Invariant: it holds everything that its data source adds to the manifest and to the steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from penstock.errors import Problem
from penstock.model.datasource import DataSource
from penstock.model.manifest import Binding, Flow, Meet, Table, View
from penstock.model.project import Project
from penstock.model.quick_dataclass import dataclass
from penstock.model.stored_values import StoredClaim, StoredValues
from penstock.model.types import is_nullable
from penstock.plan.compiled_project import CompiledProject
from penstock.plan.diff.changes import Change
from penstock.plan.diff.project_queries import reads_of_view
from penstock.plan.diff.ttl_and_final import keeps_no_rows
from penstock.plan.plan import MOVING, HiddenRows, Live, PlanOptions, ResourcePlan
from penstock.plan.steps import CheckRows, Clone, Step
from penstock.plan.strategies.costs import PlannedCosts
from penstock.plan.tables.running_datasource import RunningDataSource, find_running
from penstock.plan.tables.stored_claims import Proof


@dataclass(frozen=True, slots=True)
class PlannedDataSource:
    """One data source of the next version as it was planned."""

    resource: ResourcePlan
    """Its plan, still without sizes: these are counted from the `costs` of all planned data sources."""
    tables: tuple[Table, ...]
    binding: Binding
    quarantined: Binding
    flows: tuple[Flow, ...]
    steps: tuple[Step, ...]
    costs: PlannedCosts
    problems: tuple[Problem, ...] = ()
    history: Binding | None = None
    """The binding in which columns that keep their existing values read from the live table; None: the data source is
    new."""
    known: Mapping[str, str] = field(default_factory=dict)
    """Spark SQL of the added columns that have one constant value in all rows of history."""
    clone: Clone | None = None
    """Set if the table begins as a clone of the live table."""
    checks: CheckRows | None = None
    """What the forward query may do to existing rows."""
    meets: tuple[Meet, ...] = ()
    """Barriers of a table that another deployment made."""
    hides: HiddenRows | None = None
    """Live rows that a new TTL hides."""
    loses_rows: bool = False
    """The table does not keep all rows it received, so a view cannot be recomputed from it."""
    claims: tuple[StoredClaim, ...] = ()
    """What has to hold of the live rows when the plan is carried out."""


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """The live version, the next version, and the data sources planned so far."""

    live: Live
    project: Project
    options: PlanOptions
    compiled: CompiledProject
    former: Mapping[str, str]
    """The live name of each data source that the live version has, by its new name."""
    changes: Mapping[str, tuple[Change, ...]]
    """The changes by resource."""
    done: dict[str, PlannedDataSource]
    """The planned data sources by name; it grows in dependency order."""
    clones: dict[str, str]
    """The table that each clone begins as, by the table id of the clone."""

    def stored_values(self, table: str) -> StoredValues | None:
        """What Iceberg's statistics say of the values of a live table; None where they cannot be asked."""
        return self.live.stored_values(table) if self.live.stored_values is not None else None

    def claims_of_no_null(self, name: str) -> Iterator[StoredClaim]:
        """Of each column of a data source that may be NULL in live, and has its live values: that no row of history has
        NULL in it, nor had one that is gone."""
        running, new = self.running(name), self.project.datasource(name)
        if running is None or new is None or running.source.name != name or keeps_no_rows(running.source, new):
            return
        shown, table = self.history_binding(name), running.table.id
        if shown.table != table or running.source.engine.name != "MergeTree" or running.copies:
            return  # a copy that an earlier release made does not tell what its source had lost
        for column in running.source.columns:
            live, after = running.binding.column(column.name), shown.column(column.name)
            if live is None or after is None or not is_nullable(column.type):
                continue
            if after.physical == live.physical and live.before is None and after.before is None:
                yield StoredClaim(name, column.name, table, live.physical, never_null=True, whole=True)

    def prove(self, claim: StoredClaim) -> Proof | None:
        """The proof of a claim; None where there is none."""
        stored = self.stored_values(claim.table)
        return Proof(claim, stored.files) if stored is not None and claim.is_proved_by(stored) else None

    def add(self, name: str, outcome: PlannedDataSource) -> None:
        """Add one more planned data source."""
        self.done[name] = outcome
        if outcome.clone is not None:
            self.clones[outcome.clone.table.id] = outcome.clone.of

    def running(self, name: str) -> RunningDataSource | None:
        """The live data source that this data source of the next version continues; None if there is none."""
        former = self.former.get(name)
        return find_running(self.live, former) if former is not None else None

    def changes_of(self, name: str) -> tuple[Change, ...]:
        return self.changes.get(name, ())

    def new_table_name(self, source: DataSource) -> str:
        """The name of a new physical table for a data source."""
        return f"{source.name}__{self.options.suffix}"

    def binding(self, name: str) -> Binding:
        return self.done[name].binding

    def history_binding(self, name: str) -> Binding:
        """The binding; unchanged columns point to the live table."""
        return self.done[name].history or self.done[name].binding

    def known_values(self, name: str) -> Mapping[str, Mapping[str, str]]:
        """The constant values that columns of a data source's triggers have in all rows of history."""
        triggers = {view.trigger.datasource for view in self.compiled.feeders(name)}
        return {each: self.done[each].known for each in triggers if self.done[each].known}

    def reads_proved_columns(self, name: str) -> bool:
        """Whether a view into a data source reads one with a column whose new type holds the values that are stored,
        and not every one that live may have had: it tells less of the rows that were made of it."""
        return any(True for _ in self._claims_of_sources(name))

    def lacks_rows_with_null(self, name: str) -> bool:
        """Whether a view into a data source reads one with a column that is proved to have no NULL, and from which rows
        with NULL may be gone: what its new type says, as of isNull, was not so of them."""
        return len(self.prove_of_gone_rows(name)) < len(self.claims_without_null_above(name))

    def claims_without_null_above(self, name: str) -> tuple[StoredClaim, ...]:
        """What is claimed of columns that views into a data source may read: that no row has NULL in them any more."""
        return tuple(claim for claim in self._claims_of_sources(name) if claim.never_null)

    def prove_of_gone_rows(self, name: str) -> tuple[Proof, ...]:
        """The proofs that rows which are gone had no NULL in these columns either: as many as there are claims, or it
        is not known of some."""
        claims = (replace(each, whole=True) for each in self.claims_without_null_above(name) if self._keeps_rows(each))
        return tuple(proof for each in claims if (proof := self.prove(each)) is not None)

    def _keeps_rows(self, claim: StoredClaim) -> bool:
        """Whether the live table of a claim has what views have read of it, but for what is noted as removed."""
        run = self.running(claim.source)
        return run is not None and run.source.engine.name == "MergeTree" and not run.copies

    def _claims_of_sources(self, name: str) -> Iterator[StoredClaim]:
        """What is claimed of the columns of the data sources that views into a data source read."""
        for each in {read.datasource for view in self.compiled.feeders(name) for read in reads_of_view(view)}:
            yield from (claim for claim in self.done[each].claims if claim.source == each)

    def can_resume(self, view: View, live: View) -> bool:
        """Whether the cursor of a live view is valid for the new view: both read the same table, or the new one reads a
        clone of it with its snapshots."""
        table = view.trigger.binding.table
        return self.clones.get(table, table) == live.trigger.binding.table

    def moved_sources(self, name: str) -> tuple[str, ...]:
        """The sources of a data source's views that get another table or other values."""
        reads = {read.datasource for view in self.compiled.feeders(name) for read in reads_of_view(view)}
        return tuple(read for read in sorted(reads) if self.done[read].resource.strategy in MOVING)

    def sources_without_rows(self, name: str) -> tuple[str, ...]:
        """Sources of a data source's views that do not store all rows they received (Null engine …)."""
        triggers = {view.trigger.datasource for view in self.compiled.feeders(name)}
        return tuple(sorted(each for each in triggers if self.done[each].loses_rows))

    def sources_with_ttl(self, name: str) -> tuple[str, ...]:
        """Sources of a data source's views that have a TTL which the data source has not, and whose rows are not known
        to be whole."""
        target = self.project.datasource(name)
        triggers = sorted(
            {view.trigger.datasource for view in self.compiled.feeders(name)} - set(self.shortened_sources(name))
        )
        return tuple(
            each
            for each in triggers
            if (running := self.running(each)) is not None
            and running.source.engine.ttl is not None
            and (target is None or target.engine.ttl is None)
        )

    def shortened_sources(self, name: str) -> tuple[str, ...]:
        """Sources of a data source's views from whose live table rows are gone that its own table may have been made
        of."""
        triggers = {view.trigger.datasource for view in self.compiled.feeders(name)}
        live = {each: self.live.manifest.binding(self.former.get(each, "")) for each in triggers}
        running = self.running(name)
        whole = {source for source, target in self.live.made_afterwards if running and target == running.table.id}
        short = self.live.shortened - whole
        return tuple(sorted(each for each, bound in live.items() if bound and bound.table in short))

    def has_failed_feeder(self, name: str) -> bool:
        """Whether a pipe that feeds the data source does not compile, so that nothing is known of its flow."""
        return any(pipe.name in self.compiled.failed for pipe, _ in self.project.feeders(name))
