"""Penstock as a store of migrations: each phase is a deployment.

In: a server and the settings of the store. Out: plans and deployments. Invariant: what is deployed is what is live,
with the edits of the phase and nothing else, so that a change of somebody else is neither undone nor brought along.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from penstock.model import types as t
from penstock.model.settings import StoreSettings
from penstock.parse.project_loader import load_files
from penstock.postgres.catalog.replicated_table import QualifiedName, ReplicatedTable
from penstock.postgres.catalog.store_types import penstock_type
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.migration_store import ColumnDifference
from penstock.postgres.stores.penstock_server import PenstockConnection
from penstock.postgres.stores.store_rehearsal import RehearsedPhase, RehearsedStep, StoreRehearsal, TableParity
from penstock.postgres.translation.clickhouse.draft import ChoicesOf, ViewChoices
from penstock.postgres.translation.clickhouse.type_capacity import holds_values
from penstock.postgres.translation.penstock.project_draft import ProjectDraft
from penstock.postgres.translation.penstock.project_edits import edit_project
from penstock.postgres.translation.refusal import CannotTranslate, refuse_reserved_names
from penstock.postgres.translation.store_step import StoreStep


class PenstockStore:
    """The data sources of a project."""

    def __init__(self, name: str, settings: StoreSettings, connection: PenstockConnection, choices: ChoicesOf):
        self._name = name
        self._settings = settings
        self._connection = connection
        self._choices = choices

    @property
    def name(self) -> str:
        return self._name

    @property
    def takes_rows(self) -> bool:
        return True

    def phases(self, migration: Migration) -> tuple[Phase, ...]:
        return migration.phases()

    def plan(self, migration: Migration, phase: Phase) -> tuple[StoreStep, ...]:
        """The deployment of a phase, if it changes a file. Raises CannotTranslate, Failed, Unavailable."""
        refuse_reserved_names(migration)
        files = self._connection.live_files()
        name, choices = f"{migration.id}.{phase.value}", self._choices(migration.id)
        try:
            edits = phase_edits(files, migration, phase, self._settings.tables, choices)
        except CannotTranslate:
            # A RENAMED_FROM of an earlier change may be in the way, which says nothing more of what is live.
            ended = without_former_names(files, self._datasource(migration.table))
            if not ended:
                raise
            edits = phase_edits({**files, **ended}, migration, phase, self._settings.tables, choices)
            begin = _deployment(f"{name}.former-names", files, ended)
            return (begin, _deployment(name, {**files, **ended}, edits)) if edits else (begin,)
        return (_deployment(name, files, edits),) if edits else ()

    def unread_rows(self, migration: Migration) -> str | None:
        """Rows that live has accepted are read by the names of the version that lands them."""
        name = self._datasource(migration.table)
        count = self._connection.unlanded(name)
        return f"rows of `{name}` that are accepted and not landed (batches: {count:,})" if count else None

    def is_done(self, step: StoreStep) -> bool:
        files = self._connection.live_files()
        return all(files.get(path) == text for path, text in json.loads(step.text)["files"].items())

    def carry_out(self, step: StoreStep) -> None:
        self._deploy(step.text)

    def take_back(self, steps: Sequence[StoreStep]) -> None:
        for step in reversed(steps):
            if step.undo is not None:
                self._deploy(step.undo)

    def differences(self, table: ReplicatedTable) -> Sequence[ColumnDifference]:
        source = load_files(dict(self._connection.live_files())).project.datasource(self._datasource(table.name))
        if source is None:
            return [ColumnDifference(table.name, None, f"live has no data source {self._datasource(table.name)}", True)]
        found = []
        for column in table.columns:
            stored, wanted = source.column(column.name), penstock_type(column)
            if stored is None:
                found.append(ColumnDifference(table.name, column.name, f"the store has no column for {wanted}", True))
            elif not _holds(stored.type, wanted):
                message = f"the store has {stored.type}, which does not hold {wanted}"
                found.append(ColumnDifference(table.name, column.name, message, True))
            elif stored.type != wanted:
                message = f"the store has {stored.type} for {wanted}"
                found.append(ColumnDifference(table.name, column.name, message, False))
        return found

    def rehearse(self, phases: Sequence[RehearsedPhase]) -> StoreRehearsal:
        """All phases as one deployment to staging, whose tables share live's files; it is compared with live and
        discarded. Raises CannotTranslate, Failed, Unavailable."""
        files = dict(self._connection.live_files())
        for each in phases:
            choices = self._choices(each.migration.id)
            files.update(phase_edits(files, each.migration, each.phase, self._settings.tables, choices))
        begun = time.monotonic()
        report = self._connection.compare(files, f"rehearsal of {phases[-1].migration.id}")
        seconds = time.monotonic() - begun
        changes = "; ".join(str(each.get("change", each)) for each in report["plan"]["changes"]) or "no change"
        step = RehearsedStep(phases[-1].migration.id, phases[-1].phase, changes, seconds)
        return StoreRehearsal(self._name, (step,), tuple(_parity(each) for each in report.get("tables", ())))

    def _deploy(self, text: str) -> None:
        document = json.loads(text)
        self._connection.deploy({**self._connection.live_files(), **document["files"]}, document["name"])

    def _datasource(self, name: QualifiedName) -> str:
        return datasource_of(name, self._settings.tables)


def _deployment(name: str, files: Mapping[str, str], edits: Mapping[str, str]) -> StoreStep:
    """The deployment of edits of the files, with the one that takes it back."""
    back = {path: files[path] for path in edits}
    text, undo = (json.dumps({"name": each, "files": texts}) for each, texts in ((name, edits), (f"{name}.undo", back)))
    return StoreStep(text, f"deploys {', '.join(sorted(edits))}", undo=undo)


def without_former_names(files: Mapping[str, str], datasource: str) -> dict[str, str]:
    """The file of a data source of live without the RENAMED_FROM of its columns; nothing if it has none. Raises
    CannotTranslate."""
    draft = ProjectDraft(files, datasource, ViewChoices())
    if any(each.renamed_from for each in draft.source().columns):
        ended = lambda each: replace(each, renamed_from=None) if each.renamed_from else each  # noqa: E731
        draft.change_columns(datasource, ended)
    return draft.edits()


def _holds(stored: t.Type, wanted: t.Type) -> bool:
    """Whether a column keeps every value; one of labels is the user's choice, and rows with others are set aside."""
    plain = stored.of if isinstance(stored, t.Nullable) else stored
    nulls = isinstance(stored, t.Nullable) or not isinstance(wanted, t.Nullable)
    return (isinstance(plain, t.Enum) and nulls) or holds_values(str(stored), str(wanted))


def _parity(table: Mapping[str, Any]) -> TableParity:
    """A table of the server's report."""
    compared = table["outcome"] in ("same", "differs")
    columns = [each["name"] for each in table["columns"] if each["left"] != each["right"]]
    differing = tuple(columns) if table["outcome"] == "differs" else ()
    rows = table["left_rows"] or 0, table["right_rows"] or 0
    left_out = tuple(table["left_out"]) if compared else (table["reason"] or table["outcome"],)
    return TableParity(table["name"], rows[0], rows[1] if compared else rows[0], differing, left_out)


def datasource_of(name: QualifiedName, tables: Mapping[str, str]) -> str:
    """The data source for a table of Postgres."""
    return tables.get(str(name), name.name)


def phase_edits(
    files: Mapping[str, str], migration: Migration, phase: Phase, tables: Mapping[str, str], choices: ViewChoices
) -> dict[str, str]:
    """The files that a phase changes, with their new texts. Raises CannotTranslate."""
    before, after = (datasource_of(each, tables) for each in (migration.table, migration.table_after))
    if before != after:
        hint = f'say in [stores.NAME.tables] that the data source stays: "{migration.table_after}" = "{before}"'
        raise CannotTranslate(f"the table {migration.table} becomes {migration.table_after}", hint)
    operations = migration.of_phase(phase)
    if not operations:
        return {}
    draft = ProjectDraft(files, before, choices)
    known = {each.message for each in load_files(dict(files)).errors}
    edit_project(operations, draft)
    wrong = [each for each in load_files(draft.files).errors if each.message not in known]
    if wrong:
        raise CannotTranslate(f"the project would have a problem: {wrong[0]}", "edit its files by hand")
    return draft.edits()
