"""Migrations as edits of a project's folder, without a server.

In: a project and migrations. Out: for each phase, the files that it changes. Invariant: each phase begins with what the
one before it left.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.api.source_edits.project_edits import ProjectEdits
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
    project: ProjectEdits
    """The project after it."""


def translate_phase(
    project: ProjectEdits, migration: Migration, phase: Phase, store: StoreSettings, views: StoreViews
) -> PhaseEdits:
    """The edits of a phase, of datafiles and of Python. Raises CannotTranslate, CannotEditPython, InvalidProject."""
    edits = phase_edits(project.files, migration, phase, store.tables, views.of(migration.id))
    made = project.with_edits(edits) if edits else project
    changed = [path for path, content in made.contents.items() if project.contents.get(path) != content]
    before, after = ({path: each.text(path) for path in sorted(changed)} for each in (project, made))
    return PhaseEdits(phase, before, after, made)
