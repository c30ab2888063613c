"""Migrations as edits of a project's folder, without a server.

In: the files of a project and migrations. Out: for each phase, the files that it changes. Invariant: each phase begins
with what the one before it left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.model.settings import StoreSettings
from penstock.postgres.application.view_choices import StoreViews
from penstock.postgres.migration.migration import Migration
from penstock.postgres.migration.operation import Phase
from penstock.postgres.stores.penstock_store import phase_edits


@dataclass(frozen=True, slots=True)
class PhaseEdits:
    """What one phase makes of the files."""

    phase: Phase
    before: Mapping[str, str]
    after: Mapping[str, str]
    """Only the files that it changes; `before` has the same ones."""


def translate_project(
    files: Mapping[str, str], migration: Migration, store: StoreSettings, views: StoreViews
) -> list[PhaseEdits]:
    """The edits of each phase. Raises CannotTranslate, InvalidProject."""
    found = []
    now = dict(files)
    for phase in migration.phases():
        edits = phase_edits(now, migration, phase, store.tables, views.of(migration.id))
        found.append(PhaseEdits(phase, {path: now[path] for path in edits}, edits))
        now.update(edits)
    return found
