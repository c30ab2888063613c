"""A whole pipeline whose maintenance runs only when a test says so."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from deploy.conftest import Running
from penstock.deploy.maintenance import maintenance_runner, orphan_cleanup
from penstock.deploy.maintenance.snapshot_cleanup import SnapshotExpiry
from penstock.deploy.pipeline import Pipeline
from penstock.lake.maintenance.snapshot_expiry import list_snapshots
from penstock.lake.spark.names import qualified_table
from penstock.lake.tables import physical_tables
from penstock.model.settings import MaintenanceSettings, Settings, SparkSettings

SETTINGS = Settings(
    spark=SparkSettings(master="local[2]", driver_memory="1g"),
    maintenance=MaintenanceSettings(
        interval_seconds=86_400,
        compact_files=4,
        snapshot_seconds=0,
        ttl_seconds=1,
        orphan_interval_seconds=1,
        inbox_seconds=0,
    ),
)


class Tidy(Running):
    """What tests of maintenance ask of a pipeline."""

    def __init__(self, home: Path):
        self.home = home
        self.files: dict[str, str] = {}
        self.pipeline = Pipeline(SETTINGS, home)

    @property
    def core(self):  # type: ignore[no-untyped-def]
        return self.pipeline.core

    def restart(self) -> None:
        self.pipeline.close()
        self.pipeline = Pipeline(SETTINGS, self.home)

    def tidy(self) -> None:
        """One look, at everything."""
        maintenance = self.pipeline.maintenance
        maintenance._due.clear()
        maintenance.run_round()
        assert not maintenance.counts.failed, self.core.store.operations.recent(5)

    def stream(self, name: str, bodies: Sequence[Sequence[Mapping[str, object]]]) -> None:
        for rows in bodies:
            self.post(name, rows)

    def keep(self, name: str, rows: Sequence[Mapping[str, object]], key: str | None = None) -> int:
        """Without waiting."""
        return self.pipeline.ingestion.append(name, "\n".join(map(json.dumps, rows)).encode(), key).batch

    def table(self, name: str) -> str:
        binding = self.core.board.live().manifest.binding(name)
        assert binding is not None
        return str(binding.table)

    def files_of(self, table: str) -> int:
        spark = self.core.warehouse.lake.spark
        return int(spark.sql(f"SELECT count(*) FROM {qualified_table(table)}.files").first()[0])

    def snapshots_of(self, table: str) -> int:
        found = list_snapshots(self.core.warehouse.lake, table)
        return len(found.line) + len(found.detached)

    def stored(self, table: str) -> int:
        """Rows on disk, whoever sees them."""
        return int(self.core.warehouse.lake.spark.table(qualified_table(table)).count())

    def metadata_bytes(self, table: str) -> int:
        found = physical_tables.load_table(self.core.warehouse.lake, table)
        assert found is not None
        return Path(found.metadata_location.removeprefix("file:")).stat().st_size

    def operations(self, kind: str) -> list[object]:
        return [each for each in self.core.store.operations.recent(1000) if each.event_type == kind]


@pytest.fixture(scope="package")
def tidy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tidy]:
    patch = pytest.MonkeyPatch()
    patch.setattr(SnapshotExpiry, "safe", 0.0)
    patch.setattr(orphan_cleanup, "SEEN_SECONDS", 0.0)
    patch.setattr(maintenance_runner, "TICK_SECONDS", 86_400.0)
    made = Tidy(tmp_path_factory.mktemp("home"))
    yield made
    made.pipeline.close()
    patch.undo()
