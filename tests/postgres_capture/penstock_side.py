"""A server of Penstock behind a capture: a process of its own, which may be killed.

In: the server. Out: its data sources as a store. Invariant: all calls are made as `penstock migrations` and `penstock
cdc` make them, and what finds the server away tries again when it is back.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from chaos.killable_server import Server
from penstock.errors import Failed
from penstock.model.settings import StoreSettings
from penstock.postgres.catalog.replicated_table import ReplicatedTable
from penstock.postgres.delivery.destination import Destination
from penstock.postgres.delivery.landing_datafile import landing_datafile
from penstock.postgres.delivery.penstock_landing import PenstockLanding
from penstock.postgres.stores.migration_store import MigrationStore
from penstock.postgres.stores.penstock_server import PenstockServer
from penstock.postgres.stores.penstock_store import PenstockStore
from penstock.postgres.translation.clickhouse.draft import ViewChoices


class PenstockSide:
    """The data sources of a server. Each life of it after a kill dies at the next of some faults, and the last one
    lives."""

    name, seconds = "live", 300.0

    def __init__(self, server: Server, faults: Sequence[str] = ()):
        self.server, self._faults = server, iter(faults)
        self.token = (server.folder / ".penstock/admin_token").read_text().strip()
        self.connection = PenstockServer(server.url, self.token)
        self.store: MigrationStore = PenstockStore(
            self.name, StoreSettings("penstock"), self.connection, lambda _: ViewChoices()
        )

    def make(self, table: ReplicatedTable) -> None:
        name = table.name.name
        made = {f"datasources/{name}.datasource": landing_datafile(table, ("id",))}
        try:
            live = self.connection.live_files()
        except Failed:  # nothing was deployed yet
            live = {}
        self.connection.deploy({**live, **made}, f"make {name}")

    def destination(self) -> Destination:
        return PenstockLanding(self.server.url, self.token, self.name)

    def rows(self, table: str, columns: Sequence[str]) -> list[list[object]]:
        self.revive()
        found = self.server.sql(f"SELECT {', '.join(columns)} FROM {table} FINAL ORDER BY id")
        return [[row[each] for each in columns] for row in found]

    def doubled(self, table: str) -> int:
        # Rows that were read from the table have one position, and different ids.
        query = f"SELECT count() - uniqExact(cdc_commit_lsn, cdc_ordinal, id) AS n FROM {table}"
        return int(str(self.server.sql(query)[0]["n"]))

    def revive(self) -> None:
        """Start the server again if it was killed; it may be killed while it starts, too."""
        process = self.server.process
        while process is not None and process.poll() is not None:
            self.server.died(1)
            fault = next(self._faults, None)
            self.server.start({"PENSTOCK_FAULT": fault} if fault is not None else None)
            process = self.server.process
            with suppress(AssertionError):  # it did not become ready, and the next one is started
                self.server.ready()
