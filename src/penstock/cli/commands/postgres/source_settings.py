"""What `penstock.toml` and the environment say of the source and the stores.

In: the session of a command. Out: the folder, the settings and the DSN. Invariants: without a project the settings are
the defaults; every secret is registered before it is used.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from penstock.cli.errors import WrongUsage
from penstock.cli.session import Session
from penstock.errors import Failed, InvalidProject, Problem
from penstock.model.settings import Settings, StoreSettings, secret_values
from penstock.parse.settings import SETTINGS_FILE, parse_settings
from penstock.postgres.application.opened_stores import OpenedStores
from penstock.redaction import register_secrets

DSN_VARIABLE = "PENSTOCK_POSTGRES_DSN"
DsnOption = Annotated[
    str | None,
    typer.Option("--dsn", help="The source's Postgres, such as postgresql://user@host/database.", envvar=DSN_VARIABLE),
]


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """The settings of a project, with its folder."""

    folder: Path
    settings: Settings

    @property
    def migrations(self) -> Path:
        """The folder of the files of migrations."""
        return self.folder / self.settings.postgres.migrations

    def opener(self, views: tuple[str, ...] = ()) -> OpenedStores:
        """What opens the stores; `views` are those that the command line names."""
        return OpenedStores(self.settings.stores, self.migrations, self.folder, views)

    def dsn(self, given: str | None) -> str:
        """The DSN of the option, of the environment or of the settings. Raises WrongUsage if none has one."""
        found = given or self.settings.postgres.dsn
        if not found:
            hint = f"--dsn, the variable {DSN_VARIABLE}, or dsn in [postgres] of {SETTINGS_FILE}"
            raise WrongUsage("it is not said where Postgres is", hint=hint)
        return found


def source_settings(session: Session) -> SourceSettings:
    """The settings of the nearest project, or the defaults. Raises InvalidProject for settings with problems."""
    folder = session.new_project
    path = folder / SETTINGS_FILE
    try:
        text = path.read_text(encoding="utf-8") if path.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"{path} cannot be read: {error}") from error
    problems: list[Problem] = []
    settings = parse_settings(text, SETTINGS_FILE, problems)
    if problems:
        raise InvalidProject(f"{path} has problems", problems)
    stores = {name: _with_password(name, each) for name, each in settings.stores.items()}
    settings = replace(settings, stores=stores)
    register_secrets(secret_values(settings))
    return SourceSettings(folder, settings)


def _with_password(name: str, store: StoreSettings) -> StoreSettings:
    variable = f"PENSTOCK_STORE_{name.upper().replace('-', '_')}_PASSWORD"
    return replace(store, password=os.environ.get(variable) or store.password)
