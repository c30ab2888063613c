"""The configuration of a project: what `penstock.toml` says, and what holds where it says nothing.

In: nothing. Out: `Settings` and its parts. Called by parse, lake, state, flow, deploy and serve.
Invariant: a field has the name that it has in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from penstock.model.pipe import Dialect


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server listens."""

    host: str = "127.0.0.1"
    port: int = 7180


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """The Spark session. `packages` replaces the packages it loads; `conf` is added as it is."""

    master: str = "local[*]"
    driver_memory: str = "2g"
    packages: tuple[str, ...] | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateSettings:
    """The state store, as an SQLAlchemy URL; None is the embedded one."""

    url: str | None = None


@dataclass(frozen=True, slots=True)
class DeploySettings:
    """For how long the previous deployment can be rolled back to. `strategy` names, by data source, the
    strategy to take in place of the cheapest one."""

    rollback_window_hours: int = 24
    strategy: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """The most that one step of a flow reads, so that it ends between two crashes."""

    max_step_rows: int = 2_000_000
    max_step_bytes: int = 268_435_456


@dataclass(frozen=True, slots=True)
class Settings:
    """A whole `penstock.toml`. `catalog` holds the properties of the Iceberg catalog (`type`,
    `uri`, `warehouse` …); empty is the embedded one."""

    dialect: Dialect = "clickhouse"
    server: ServerSettings = ServerSettings()
    spark: SparkSettings = field(default_factory=SparkSettings)
    catalog: Mapping[str, str] = field(default_factory=dict)
    state: StateSettings = StateSettings()
    deploy: DeploySettings = DeploySettings()
    flow: FlowSettings = FlowSettings()
