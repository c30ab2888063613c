"""The configuration of a project: what `penstock.toml` says, and what holds where it says nothing.

In: nothing. Out: `Settings` and its parts. Called by parse, lake, state, flow, deploy and serve.
Invariant: a field has the name that it has in the file.

Which values of the settings are secrets.

In: `Settings`. Out: texts. Called by serve and by every process that opens a lake. Invariant: a value is one
by the name it has, or by where it stands in an address.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from penstock.model.pipe import Dialect


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server listens. A query that takes more than `max_query_seconds` is cancelled; an answer
    of more rows or bytes is refused."""

    host: str = "127.0.0.1"
    port: int = 7180
    max_query_seconds: int = 30
    max_result_rows: int = 1_000_000
    max_result_bytes: int = 268_435_456


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
    """For how long the previous deployment can be rolled back to. A version that lags more than
    `max_lag_seconds` is not switched to. `strategy` names, by data source, the strategy to take in place
    of the cheapest one."""

    rollback_window_hours: int = 24
    max_lag_seconds: int = 30
    strategy: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """The most that one step of a flow reads, so that it ends between two crashes. One that takes more
    than `max_step_seconds` is cancelled and tried again with less; one for a deployment that is not live
    gets `staging_step_seconds` beside live's flows, then a process of its own."""

    max_step_rows: int = 2_000_000
    max_step_bytes: int = 268_435_456
    max_step_seconds: int = 600
    staging_step_seconds: int = 30


@dataclass(frozen=True, slots=True)
class BackfillSettings:
    """How histories are filled: the most bytes (of source files) a second, None for no limit; how long
    rows of live may wait before it slows down; from how many bytes on it gets a Spark process of its
    own."""

    max_bytes_per_second: int | None = None
    yield_after_seconds: int = 10
    own_process_bytes: int = 8 * 2**30


@dataclass(frozen=True, slots=True)
class InboxSettings:
    """When rows are refused before it is too late: with less than `min_free_bytes` free on the disk of the
    inbox, or more than `max_pending_bytes` of a stream not yet in its tables. `folder` is where they are
    kept, None for the embedded one."""

    folder: str | None = None
    min_free_bytes: int = 268_435_456
    max_pending_bytes: int = 68_719_476_736


@dataclass(frozen=True, slots=True)
class MaintenanceSettings:
    """What is done in the background, and how often (`docs/maintenance.md`). All times are in seconds."""

    interval_seconds: int = 30
    compact_files: int = 32
    compact_small_bytes: int = 33_554_432
    compact_target_bytes: int = 134_217_728
    compact_run_bytes: int = 1_073_741_824
    snapshot_seconds: int = 600
    ttl_seconds: int = 3_600
    orphan_interval_seconds: int = 86_400
    orphan_seconds: int = 259_200
    inbox_seconds: int = 86_400
    log_seconds: int = 2_592_000


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
    backfill: BackfillSettings = BackfillSettings()
    inbox: InboxSettings = InboxSettings()
    maintenance: MaintenanceSettings = MaintenanceSettings()


_SECRET_NAME = re.compile(r"(?i)passw|pwd|secret|token|credential|(access|account|api|private|sas)[._-]?key|[._-]key$")


def secret_values(settings: Settings) -> tuple[str, ...]:
    """Passwords, keys and tokens, sorted."""
    found = {*_secrets_in_properties(settings.catalog), *_secrets_in_properties(settings.spark.conf)}
    found.update(_secrets_in_address(settings.state.url or ""))
    return tuple(sorted(found))


def _secrets_in_properties(properties: Mapping[str, str]) -> Iterator[str]:
    for name, value in properties.items():
        if _SECRET_NAME.search(name) and value:
            yield value
        yield from _secrets_in_address(value)


def _secrets_in_address(text: str) -> Iterator[str]:
    """The password and the secret parameters of an address, also behind `jdbc:`."""
    try:
        parts = urlsplit(text.removeprefix("jdbc:"))
        password = parts.password
    except ValueError:
        return
    if password:
        yield password
    yield from (value for name, value in parse_qsl(parts.query) if _SECRET_NAME.search(name))
