"""The settings of a project: what `penstock.toml` says, with the defaults for what it leaves out.

In: nothing; `parse` fills the values in. Out: `Settings`, and which of its values are secrets. Invariant: a field
has the name of its key in the file; a value is secret because of its key's name or its place in a URL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urlsplit

from penstock.model.pipe import Dialect

_SECRET_NAME = re.compile(r"(?i)passw|pwd|secret|token|credential|(access|account|api|private|sas)[._-]?key|[._-]key$")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server listens. A query that takes longer than `max_query_seconds` is cancelled; a result with more
    rows or bytes than allowed is refused."""

    host: str = "127.0.0.1"
    port: int = 7180
    max_query_seconds: int = 30
    max_result_rows: int = 1_000_000
    max_result_bytes: int = 268_435_456


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """The Spark session. `packages` replaces the packages that it loads; `conf` is passed on unchanged."""

    master: str = "local[*]"
    driver_memory: str = "2g"
    packages: tuple[str, ...] | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateSettings:
    """The state store, as an SQLAlchemy URL; None is the embedded SQLite file."""

    url: str | None = None


@dataclass(frozen=True, slots=True)
class DeploySettings:
    """For how many hours a rollback to the previous deployment is possible; the greatest lag with which a version can
    be promoted; and `strategy`: by data source, the strategy to use instead of the cheapest one."""

    rollback_window_hours: int = 24
    max_lag_seconds: int = 30
    strategy: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """The most that one step of a flow reads, so that it ends soon even if the server crashes now and then. A step of
    more than `max_step_seconds` is cancelled and tried again with less; one for a deployment that is not live may take
    `staging_step_seconds` beside live's flows, then it moves to a process of its own."""

    max_step_rows: int = 2_000_000
    max_step_bytes: int = 268_435_456
    max_step_seconds: int = 600
    staging_step_seconds: int = 30


@dataclass(frozen=True, slots=True)
class BackfillSettings:
    """How histories are filled: the most bytes of source files a second (None: no limit); how many seconds live's rows
    may wait before histories slow down; and from how many bytes on a history gets a Spark process of its own."""

    max_bytes_per_second: int | None = None
    yield_after_seconds: int = 10
    own_process_bytes: int = 8 * 2**30


@dataclass(frozen=True, slots=True)
class InboxSettings:
    """When rows are refused: with less than `min_free_bytes` free on the disk of the inbox, or with more than
    `max_pending_bytes` of a stream not yet in its tables. `folder` is where raw rows are kept (None: in the project's
    `.penstock` folder)."""

    folder: str | None = None
    min_free_bytes: int = 268_435_456
    max_pending_bytes: int = 68_719_476_736


@dataclass(frozen=True, slots=True)
class MaintenanceSettings:
    """Background maintenance and its intervals (`docs/maintenance.md`). All times are in seconds, sizes in bytes."""

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
    """A whole `penstock.toml`. `catalog` has the properties of the Iceberg catalog (`type`, `uri`, `warehouse` …);
    empty means the embedded one."""

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


def secret_values(settings: Settings) -> tuple[str, ...]:
    """The passwords, keys and tokens among the settings, sorted."""
    found = {*_secrets_in_properties(settings.catalog), *_secrets_in_properties(settings.spark.conf)}
    found.update(_secrets_in_address(settings.state.url or ""))
    return tuple(sorted(found))


def _secrets_in_properties(properties: Mapping[str, str]) -> Iterator[str]:
    for name, value in properties.items():
        if _SECRET_NAME.search(name) and value:
            yield value
        yield from _secrets_in_address(value)


def _secrets_in_address(text: str) -> Iterator[str]:
    """The password and the secret parameters of a URL, which may begin with `jdbc:`."""
    try:
        parts = urlsplit(text.removeprefix("jdbc:"))
        password = parts.password
    except ValueError:
        return
    if password:
        yield password
    yield from (value for name, value in parse_qsl(parts.query) if _SECRET_NAME.search(name))
