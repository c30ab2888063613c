"""Opens the stores that the settings name.

In: their settings, the folder of migrations and the project's folder. Out: stores of migrations. Invariant: what a kind
of store needs of libraries is imported when one of it is opened.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from penstock.client.project_server import DEFAULT_URL, project_url, read_admin_token
from penstock.errors import NotFound, did_you_mean
from penstock.model.settings import StoreSettings
from penstock.postgres.application.view_choices import StoreViews
from penstock.postgres.stores.clickhouse_server import ClickHouseServer
from penstock.postgres.stores.clickhouse_store import ClickHouseStore
from penstock.postgres.stores.migration_store import MigrationStore
from penstock.postgres.stores.penstock_server import PenstockServer
from penstock.postgres.stores.penstock_store import PenstockStore

_ICEBERG = "penstock.postgres.stores.iceberg_store"


@dataclass(frozen=True, slots=True)
class OpenedStores:
    """The stores of a project."""

    settings: Mapping[str, StoreSettings]
    migrations: Path
    project: Path
    views: tuple[str, ...] = ()
    """The views that the command line names."""

    def open(self, name: str) -> MigrationStore:
        """A store by its name. Raises NotFound."""
        found = self.settings.get(name)
        if found is None:
            known = did_you_mean(name, self.settings)
            hint = known or f"add [stores.{name}] with its type to penstock.toml"
            raise NotFound(f"the settings have no store `{name}`", hint=hint)
        choices = StoreViews(self.migrations, name, self.views).of
        match found.type:
            case "clickhouse":
                return ClickHouseStore(name, found, ClickHouseServer(found), choices)
            case "iceberg":
                store: MigrationStore = importlib.import_module(_ICEBERG).IcebergStore(name, found)
                return store
            case _:
                return PenstockStore(name, found, self._server(found), choices)

    def _server(self, settings: StoreSettings) -> PenstockServer:
        """A server of Penstock: the one of the settings, of the environment, or of the project's folder."""
        token = settings.password or os.environ.get("PENSTOCK_TOKEN")
        given = settings.url or os.environ.get("PENSTOCK_URL")
        url = given or project_url(self.project, token) or DEFAULT_URL
        return PenstockServer(url.rstrip("/"), token or read_admin_token(self.project))
