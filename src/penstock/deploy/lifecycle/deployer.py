"""Plan a project against the live deployment, save the plan, carry it out in a thread, and move deployments.

In: a project's files and options, or a reference to a deployment. Out: `Deployment` records and their events.
Invariant: one plan is made and saved at a time, so ids and names of new tables are unique; promotions, rollbacks,
retirements and discards run one after the other.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial

from penstock.deploy.external.paths.allowed_folders import folder_warnings
from penstock.deploy.lifecycle import promotion as switch
from penstock.deploy.lifecycle.copy_on_write import split_tables
from penstock.deploy.lifecycle.deployment_events import DeploymentEvent, deployment_events
from penstock.deploy.lifecycle.drift_watch import drift_problems, find_drift
from penstock.deploy.lifecycle.executor import ExecutionStopped, execute_steps, is_unfinished
from penstock.deploy.lifecycle.forward_row_checks import count_hidden, count_rows
from penstock.deploy.lifecycle.journal_steps import JournalStep, Promote, step_to_json
from penstock.deploy.lifecycle.repeated_deployment import RepeatedCall, find_repeated
from penstock.deploy.lifecycle.rescued_rows import find_rescued_rows
from penstock.deploy.lifecycle.states import NOT_OVER, OVER, PAUSABLE, UNFINISHED
from penstock.deploy.lifecycle.table_cleanup import drop_unused_tables, drop_unused_tags
from penstock.deploy.lifecycle.time_estimate import estimate_time
from penstock.deploy.lifecycle.undo import is_undone, undo_steps
from penstock.deploy.runtime.core import Core
from penstock.errors import Conflict, InvalidProject, PenstockError, Problem, Unavailable
from penstock.flow.materialized_view import SplitRequired
from penstock.flow.telemetry.log_context import log_context
from penstock.flow.telemetry.spans import span
from penstock.lake.maintenance.removed_rows import made_afterwards, shortened_tables
from penstock.lake.read.history_slices import column_sizes
from penstock.model.deployment import CANDIDATES, Deployment
from penstock.parse.project_loader import load_files
from penstock.plan.diff.changes import join_words
from penstock.plan.plan import Candidate
from penstock.plan.plan_json import plan_to_json
from penstock.plan.planner import Live, Plan, PlanOptions, Size, make_plan
from penstock.plan.project_check import check_loaded
from penstock.plan.steps import Activate, CatchUp
from penstock.plan.strategies.deletion_protection import is_loss_refused

STORE_PAUSE = 2.0
log = logging.getLogger("penstock.deploy")


@dataclass(frozen=True, slots=True)
class DeployOptions:
    """The options of `penstock deploy`."""

    check: bool = False
    """Plan only: save and change nothing."""
    promote: bool = True
    """Make the deployment live as soon as it is ready."""
    allow_destructive: bool = False
    """Accept a plan that loses rows or resources."""
    name: str | None = None
    check_rows: bool = False
    """Look, before anything begins, whether forward queries can convert the rows of live, as `check` does. Calls by
    HTTP do so unless they say otherwise."""
    rebuilt: frozenset[str] = frozenset()
    """Targets of views that are computed anew, although nothing has changed."""

    @property
    def asked(self) -> dict[str, object]:
        """What the plan of a deployment records of them."""
        return {
            "auto_promote": self.promote,
            "allow_destructive_operations": self.allow_destructive,
            "check_rows": self.check_rows,
            "rebuilt": sorted(self.rebuilt),
        }


class Deployer:
    """Creates deployments and moves them from state to state. Thread-safe; only one switch runs at a time."""

    def __init__(self, core: Core):
        self._core = core
        self._planning = threading.Lock()
        self._switching = threading.Lock()
        self._splitting = threading.Lock()
        self._undoing = threading.Lock()
        self._splits_guard = threading.Lock()
        self._splits: set[str] = set()
        self._threads: dict[int, threading.Thread] = {}

    def deploy(self, files: Mapping[str, str], options: DeployOptions) -> Deployment:
        """Plan the project, save the deployment and start it. If `options.check` is set or nothing changed, nothing is
        saved, and the answer has the id 0. Raises InvalidProject with all problems."""
        with self._planning:
            plan = self._make_plan(files, f"d{self._core.store.deployments.newest() + 1}", options)
            if options.rebuilt and plan.changes:
                raise Conflict("another version went live meanwhile: nothing is rebuilt", hint="try again")
            shown = {**plan_to_json(plan), **options.asked}
            problems = (*plan.problems, *self._check_drift(plan), *self._check_rows(plan, options))
            problems += tuple(find_rescued_rows(self._core.warehouse, self._core.board.live(), plan))
            shown |= {"problems": [problem.as_json() for problem in problems], **self._estimates(plan)}
            if options.check or not (plan.changes or options.rebuilt):
                return _unsaved_deployment(self._core.store.pointer.read().live, files, plan, shown)
            made = self._save(files, options, plan, shown)
        self._start_thread(made.id)
        return made

    def _estimates(self, plan: Plan) -> dict[str, object]:
        """How long the plan takes, and how long the columns stay computed that are not materialized before."""
        recent = self._core.store.operations.recent
        before = plan.rows_moved + plan.rewrites.rows if plan.rows_moved is not None else None
        found: dict[str, object] = {"estimate": estimate_time(before, recent).as_json()}
        later = plan.rewritten_later
        return found if later is None else {**found, "materialized_later": estimate_time(later.rows, recent).as_json()}

    def find_repeated(self, files: Mapping[str, str], options: DeployOptions) -> Deployment | None:
        """The candidate that the same call made before, such as that of a job which was killed; None if there is none.
        It is planned against what is live now, and can still become live."""
        with self._planning:
            live = self._core.store.pointer.read().live
            call = RepeatedCall(files, options.name, live, options.asked)
            return find_repeated(self._core.store.deployments.in_state(*CANDIDATES), call)

    def rebuild(self, name: str, options: DeployOptions) -> Deployment | None:
        """A deployment of live's own files, in which everything that materialized views compute from a data source is
        computed anew from the rows that are there when it begins; None if there is nothing. Raises NotFound, Conflict,
        and InvalidProject where more than that would change."""
        live = self._core.board.readable("live")
        names = live.manifest.derived_names(name)
        if not names:
            return None
        try:
            return self.deploy(live.files, replace(options, rebuilt=frozenset(names)))
        except InvalidProject as error:
            what = join_words(f"`{each}`" for each in names)
            raise InvalidProject(f"{what} cannot be rebuilt from `{name}` as it is", error.problems) from error

    def rebuild_once(self, name: str, since: datetime, *, promote: bool) -> Deployment | None:
        """Like `rebuild`, of what may be lost by it, too; or the deployment that a call like it has made since then."""
        live = self._core.board.readable("live")
        names = sorted(live.manifest.derived_names(name))
        for each in self._core.store.deployments.in_state(*NOT_OVER):
            if each.created_at >= since and names and each.plan.get("rebuilt") == names:
                return each
        return self.rebuild(name, DeployOptions(promote=promote, allow_destructive=True))

    def resume_unfinished(self) -> None:
        """After a start: continue the deployments that were being carried out or undone, and drop unused tables."""
        for deployment in self._core.store.deployments.in_state(*UNFINISHED, "ready"):
            if is_unfinished(self._core.store, deployment):
                self._start_thread(deployment.id)
        self.clean_up_ended()
        drop_unused_tags(self._core.store, self._core.warehouse)

    def clean_up_ended(self) -> None:
        """Undo what is left of discarded deployments, and drop tables that nobody reads any more: the lease of another
        reader ends unseen."""
        self.undo_discarded()
        drop_unused_tables(self._core)

    def undo_discarded(self) -> None:
        """Undo the deployments whose discard failed (the catalog was away), or was cut off by the end of a server. An
        error is logged, and the next call tries again."""
        for deployment in self._core.store.deployments.unswept():
            runs = (thread := self._threads.get(deployment.id)) is not None and thread.is_alive()
            if deployment.state == "discarded" and not runs and not is_undone(self._core.store, deployment):
                _run_logged(deployment.id, partial(self._undo, deployment))

    def promote(self, ref: str | None) -> Deployment:
        with self._switching:
            return self._clean_up(switch.promote(self._core, self._core.store.find(ref or "staging")))

    def rollback(self) -> Deployment:
        with self._switching:
            return switch.rollback(self._core)

    def retire(self, ref: str | None) -> Deployment:
        with self._switching:
            return self._clean_up(
                switch.retire(self._core.store, self._core.board, self._core.store.find(ref or "previous"))
            )

    def discard(self, ref: str | None) -> Deployment:
        with self._switching:
            gone = switch.discard(self._core.store, self._core.board, self._core.store.find(ref or "staging"))
        self._join_thread(gone.id)
        self._undo(gone)
        return self._clean_up(gone)

    def pause(self, ref: str | None) -> Deployment:
        """Stop what only this deployment needs, until it is resumed. Raises Conflict, NotFound."""
        return self._change_pause(ref, self._core.store.deployments.pause)

    def resume(self, ref: str | None) -> Deployment:
        """Continue a paused deployment where it stopped. Raises Conflict, NotFound."""
        return self._change_pause(ref, self._core.store.deployments.resume)

    def events(self, id: int) -> Iterator[DeploymentEvent]:
        """State changes and progress until the deployment is at rest. Raises NotFound at the call, not while
        iterating."""
        self._core.store.deployments.get(id)
        return deployment_events(self._core, id)

    def _change_pause(self, ref: str | None, change: Callable[..., Deployment]) -> Deployment:
        changed = change(self._core.store.find(ref or "staging").id, of=PAUSABLE)
        self._core.board.refresh()
        return changed

    def clean_up_unread(self, id: int) -> None:
        """Drop the tables of a deployment that no query reads any more, if it is retired or discarded."""
        running = self._core.board.running.deployments
        if all(each.id != id for each in running) and self._core.store.deployments.record(id).state in OVER:
            threading.Thread(
                target=_run_logged, args=(id, lambda: drop_unused_tables(self._core)), name="sweep", daemon=True
            ).start()

    def on_split_required(self, split: SplitRequired) -> None:
        """A shared view met a row that not all its deployments accept: give them tables of their own. This is done in a
        new thread, since the caller holds the view's table; the view asks again until it is done."""
        with self._splits_guard:
            if split.table in self._splits:
                return
            self._splits.add(split.table)
        threading.Thread(target=self._split, args=(split,), name=f"split {split.table}", daemon=True).start()

    def _split(self, split: SplitRequired) -> None:
        try:
            with self._splitting:
                for id in split.deployments:
                    _run_logged(id, lambda id=id: split_tables(self._core, id, split.table))  # type: ignore[misc]
        finally:
            with self._splits_guard:
                self._splits.discard(split.table)

    def close(self) -> None:
        """Wait for the threads of deployments; they end once the scheduler is stopping."""
        for thread in list(self._threads.values()):
            thread.join()

    def _undo(self, deployment: Deployment) -> None:
        with self._undoing:
            undo_steps(self._core, deployment)

    def _clean_up(self, deployment: Deployment) -> Deployment:
        drop_unused_tables(self._core)
        return deployment

    def _make_plan(self, files: Mapping[str, str], suffix: str, options: DeployOptions) -> Plan:
        loaded = load_files(files)
        if loaded.errors:
            _raise_errors(check_loaded(loaded).problems)
        streams = frozenset(self._core.flows.arrivals.heads)
        wishes = loaded.settings.deploy
        wanted = PlanOptions(
            suffix,
            options.allow_destructive,
            streams,
            wishes.strategy,
            options.rebuilt,
            wishes.materialize_bytes,
        )
        plan = make_plan(self._read_live(options.rebuilt), loaded.project, wanted)
        places = {each.name: each.forward_query.location for each in loaded.project.datasources if each.forward_query}
        outside = tuple(folder_warnings(loaded, self._core.settings))
        plan = replace(plan, problems=(*loaded.problems, *outside, *plan.problems), forward_queries=places)
        _raise_errors(plan.problems)
        return plan

    def _check_rows(self, plan: Plan, options: DeployOptions) -> list[Problem]:
        """Problems that the plan causes for existing rows. Raises InvalidProject if it hides rows and
        `options.allow_destructive` is not set or, with `options.check` or `options.check_rows`, if a forward query
        fails for rows."""
        allowed = options.allow_destructive
        hidden = [each for each in plan.hides if is_loss_refused(each.source, each.before, allowed=allowed)]
        found = [problem for each in hidden if (problem := count_hidden(self._core.warehouse, each)) is not None]
        for step in plan.checks if options.check or options.check_rows else ():
            place = plan.forward_queries.get(step.name)
            found += [replace(problem, location=place) for problem in count_rows(self._core.warehouse, step)]
        _raise_errors([*plan.problems, *found])
        return found

    def _check_drift(self, plan: Plan) -> tuple[Problem, ...]:
        """Changes of tables from outside Penstock. Raises InvalidProject if the plan would use a damaged table."""
        drift = find_drift(self._core.warehouse.recorded, self._core.store.deployments.in_state(*NOT_OVER))
        found = drift_problems(drift, plan)
        _raise_errors([*plan.problems, *found])
        return found

    def _read_live(self, rebuilt: Collection[str]) -> Live | None:
        live = self._core.board.live()
        if live is None:
            return None
        candidates = self._find_candidates(live.id)
        sizes = {}
        for table in (*live.manifest.tables, *(table for each in candidates for table in each.manifest.tables)):
            snapshots = self._core.warehouse.registry.snapshots(table.id)
            sizes[table.id] = Size(snapshots.rows, snapshots.bytes, snapshots.files)
        project = self._core.projects.load(live).project
        read = {view.trigger.binding.table for view in live.manifest.views}
        read |= {bound.table for bound in live.manifest.bindings if bound.name in rebuilt}
        shortened = shortened_tables(self._core.warehouse.lake, sorted(read))
        return Live(
            project,
            live.manifest,
            sizes,
            self._physical_columns(),
            lambda table: column_sizes(self._core.warehouse.lake, table),
            stored_values=self._core.warehouse.stored_values,
            candidates=candidates,
            shortened=shortened,
            made_afterwards=made_afterwards(self._core.warehouse.lake, shortened, live.manifest.views),
        )

    def _find_candidates(self, base: int) -> tuple[Candidate, ...]:
        """The other deployments, in state ready or backfilling, that were planned against the same live version."""
        return tuple(
            Candidate(each.name or str(each.id), self._core.projects.load(each).project, each.manifest)
            for each in self._core.board.running.deployments
            if each.base == base and each.state in ("ready", "backfilling")
        )

    def _physical_columns(self) -> dict[str, tuple[str, ...]]:
        """By table, the physical columns that there are, and those that any deployment which is not retired or
        discarded may make. Those of a retired one stay as long as somebody reads it: one of them that was taken for a
        new column would bring its values back."""
        columns = self._core.warehouse.recorded.column_names()
        for deployment in self._core.store.deployments.in_state(*NOT_OVER):
            for table in deployment.manifest.tables:
                columns[table.id] = columns.get(table.id, ()) + tuple(field.name for field in table.fields)
        return columns

    def _save(
        self, files: Mapping[str, str], options: DeployOptions, plan: Plan, shown: Mapping[str, object]
    ) -> Deployment:
        base = self._core.store.pointer.read().live
        steps: list[JournalStep] = [*(plan.steps or (Activate(), CatchUp())), *([Promote()] if options.promote else [])]
        journal = [step_to_json(step) for step in steps]
        return self._core.store.deployments.create(options.name or "", base, files, shown, plan.manifest, journal)

    def _start_thread(self, id: int) -> None:
        thread = threading.Thread(target=self._run_deployment, args=(id,), name=f"deployment {id}", daemon=True)
        thread.start()
        running = {other: each for other, each in self._threads.copy().items() if each.is_alive()}
        self._threads = running | {id: thread}

    def _join_thread(self, id: int) -> None:
        thread = self._threads.get(id)
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        self._threads.pop(id, None)

    def _run_deployment(self, id: int) -> None:
        _run_logged(id, lambda: self._execute(id))

    def _execute(self, id: int) -> None:
        """Carry the deployment out; if the state store or the catalog does not answer for a while, try again."""
        while not self._core.flows.scheduler.stopping:
            try:
                execute_steps(self._core, id, lambda ready: self.promote(str(ready)))
            except Unavailable as error:
                log.warning("deployment %d waits: %s", id, error.message)
                self._core.flows.scheduler.wait(lambda: False, STORE_PAUSE)
            else:
                return


def _run_logged(id: int, run: Callable[[], object]) -> None:
    try:
        with log_context(deployment=id), span("deployment", {"penstock.deployment": id}):
            run()
    except ExecutionStopped:
        log.info("deployment %d stopped", id)
    except PenstockError as error:
        log.warning("deployment %d: %s", id, error.message)
    except Exception:
        log.exception("deployment %d", id)


def _raise_errors(problems: Sequence[Problem]) -> None:
    errors = [problem for problem in problems if problem.level == "error"]
    if errors:
        count = f"{len(errors)} problems" if len(errors) > 1 else "a problem"
        raise InvalidProject(f"the project has {count}", problems)


def _unsaved_deployment(
    base: int | None, files: Mapping[str, str], plan: Plan, shown: Mapping[str, object]
) -> Deployment:
    now = datetime.now(timezone.utc)
    return Deployment(0, "", "planned", base, now, now, files, shown, plan.manifest)
