"""The settings of a project: what `penstock.toml` says, with the defaults for what it leaves out.

In: nothing; `parse` fills the values in. Out: `Settings`, and which of its values are secrets. Invariant: a field
has the name of its key in the file; a value is secret because of its key's name or its place in a URL.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Literal, TypeAlias
from urllib.parse import parse_qsl, urlsplit

from penstock.model.pipe import Dialect
from penstock.model.quick_dataclass import dataclass

LogFormat: TypeAlias = Literal["text", "json"]
_SECRET_NAME = re.compile(r"(?i)passw|pwd|secret|token|credential|(access|account|api|private|sas)[._-]?key|[._-]key$")


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """Where the server listens, and the limits of queries, bodies and connections."""

    host: str = "127.0.0.1"
    port: int = 7180
    max_query_seconds: int = 30
    """A query that takes longer is cancelled."""
    max_result_rows: int = 1_000_000
    """A result with more rows is refused."""
    max_result_bytes: int = 268_435_456
    """A larger result is refused."""
    max_body_bytes: int = 268_435_456
    """The most bytes of all bodies that are in memory at once, packed and unpacked; with more, calls are refused."""
    max_body_seconds: int = 60
    """A body that takes longer to arrive is refused."""
    max_connections: int = 1_000
    """With more connections at once, new ones are refused."""
    allowed_origins: tuple[str, ...] = ()
    """The pages, such as `https://app.example.org`, whose scripts browsers let read answers; `*`: all."""
    log_format: LogFormat = "text"
    """How `server.log` has its records: as lines to read, or each as a line of JSON."""


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """The Spark session."""

    master: str = "local[*]"
    driver_memory: str = "2g"
    packages: tuple[str, ...] | None = None
    """Replaces the packages that Spark loads."""
    conf: Mapping[str, str] = field(default_factory=dict)
    """Passed on to Spark unchanged."""
    class_archive: bool = True
    """Whether Spark's classes are archived once on this machine, so that servers start sooner."""

    @property
    def driver_memory_bytes(self) -> int:
        """The size of Spark's heap."""
        return int(self.driver_memory[:-1]) << _UNITS[self.driver_memory[-1].lower()]


_UNITS = {"k": 10, "m": 20, "g": 30, "t": 40}
"""The power of two of each unit in which Java takes amounts of memory."""


@dataclass(frozen=True, slots=True)
class PythonSettings:
    """The part of a project that is written in Python, and the limits of the process that reads it."""

    module: str | None = None
    """The module that declares the tables and views; None: `app.main`, if files of `app` import penstock."""
    max_seconds: int = 10
    """A module that takes longer is ended."""
    max_bytes: int = 4_294_967_296
    """The most memory that the process may take."""
    handlers: bool = True
    """Whether the server runs the functions of endpoints that answer by Python."""
    handler_processes: int = 2
    """How many of them run at a time."""
    handler_seconds: int = 10
    """A call that takes longer is ended."""
    handler_bytes: int = 1_073_741_824
    """The most memory that the process of a call may take."""


@dataclass(frozen=True, slots=True)
class StateSettings:
    """The state store."""

    url: str | None = None
    """An SQLAlchemy URL; None: the embedded SQLite file."""


@dataclass(frozen=True, slots=True)
class DeploySettings:
    """How deployments are planned, promoted and rolled back."""

    rollback_window_hours: int = 24
    """For how many hours a rollback to the previous deployment is possible."""
    max_lag_seconds: int = 30
    """The greatest lag with which a version can be promoted."""
    candidate_inbox_bytes: int = 17_179_869_184
    """A candidate for which more bytes of raw rows are kept fails."""
    candidate_snapshots: int = 20_000
    """A candidate for which more snapshots of one table are kept fails."""
    candidate_stalled_hours: int = 72
    """A candidate that stands still while rows wait for longer fails, also a paused one."""
    materialize_bytes: int = 268_435_456
    """The most bytes of files into which a deployment writes bridged columns before it is ready; 0: none."""
    strategy: Mapping[str, str] = field(default_factory=dict)
    """The strategy to use instead of the cheapest one, by data source."""


@dataclass(frozen=True, slots=True)
class FlowSettings:
    """The limits of one step of a flow, so that steps complete even if the server crashes now and then."""

    max_step_rows: int = 2_000_000
    """The most rows that a step reads."""
    max_step_bytes: int = 268_435_456
    """The most bytes that a step reads."""
    max_step_seconds: int = 600
    """A step that takes longer is cancelled and tried again with fewer rows."""
    live_steps: int | None = None
    """How many steps of live and the previous version run at a time; None: one for each core, and at least two."""
    staging_step_seconds: int = 30
    """How long a step of a deployment that is not live may run beside live flows; then it moves to a worker process."""


@dataclass(frozen=True, slots=True)
class BackfillSettings:
    """How histories are filled."""

    max_bytes_per_second: int | None = None
    """The most bytes of source files read per second; None: no limit."""
    yield_after_seconds: int = 10
    """How long live rows may wait before histories slow down."""
    own_process_bytes: int = 8 * 2**30
    """A history of at least this size gets a worker process."""


@dataclass(frozen=True, slots=True)
class InboxSettings:
    """When rows are refused, and where raw rows are stored."""

    folder: str | None = None
    """The folder of raw rows; None: a folder in the project's `.penstock` folder."""
    min_free_bytes: int = 268_435_456
    """Rows are refused if the disk of the inbox has less free space."""
    max_pending_bytes: int = 68_719_476_736
    """Rows of a stream are refused if more of it is not yet in its tables."""


@dataclass(frozen=True, slots=True)
class CopySettings:
    """What copies may read from outside of this server by `url(…)`, `s3(…)` and the like."""

    private_hosts: tuple[str, ...] = ()
    """Hosts of this machine's own networks that may be read, each `host` or `host:port`; others of them are refused."""
    max_read_bytes: int = 17_179_869_184
    """The most bytes of files that a run of a copy fetches, and that one of them has unpacked."""
    max_read_seconds: int = 3_600
    """For how long a run of a copy fetches files."""


@dataclass(frozen=True, slots=True)
class ImportSettings:
    """Where data sources may take files from on this machine."""

    folders: tuple[str, ...] = ()
    """Folders in which, and below which, data sources may take files; without any they take none of this machine."""


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """Where sinks may write on this machine."""

    folders: tuple[str, ...] = ()
    """Folders in which, and below which, sinks may write files; without any they write none on this machine."""


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """Where traces go (`docs/operations.md`)."""

    endpoint: str | None = None
    """The address of a collector of OpenTelemetry that takes OTLP over HTTP, without `/v1/traces`; what it has behind a
    question mark is a secret."""


@dataclass(frozen=True, slots=True)
class MaintenanceSettings:
    """Background maintenance and its intervals (`docs/maintenance.md`). All times are in seconds, sizes in bytes."""

    interval_seconds: int = 30
    compact_files: int = 32
    compact_small_bytes: int = 33_554_432
    compact_target_bytes: int = 134_217_728
    compact_run_bytes: int = 1_073_741_824
    snapshot_seconds: int = 600
    max_snapshots: int = 20
    reader_seconds: int = 3_600
    """For how long another Iceberg reader can read the files that it was given."""
    ttl_seconds: int = 3_600
    orphan_interval_seconds: int = 86_400
    orphan_seconds: int = 259_200
    inbox_seconds: int = 86_400
    log_seconds: int = 2_592_000
    deployment_seconds: int = 2_592_000
    """For how long a deployment that was retired or discarded can be shown; one that failed is discarded then."""
    key_seconds: int = 86_400
    """For how long idempotency keys are known; time in which no server runs does not count."""
    audit_seconds: int = 31_536_000
    call_seconds: int = 604_800
    """For how long the calls of endpoints and of SQL are known."""
    call_rows: int = 100_000
    """The most calls that are known; the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """The Postgres of an application, whose schema changes and rows travel to the stores."""

    dsn: str | None = None
    """Where it is; the variable PENSTOCK_POSTGRES_DSN stands before it."""
    schemas: tuple[str, ...] = ("public",)
    """The schemas whose tables are watched."""
    migrations: str = "migrations"
    """The folder of the files of migrations, in the project's."""
    delete_after_hours: int = 24
    """For how long a dropped column is only hidden before it is deleted from the stores."""
    keep_aside: bool = False
    """Whether rows with a column that a store lacks go on without it, and are kept whole for `penstock cdc replay`;
    otherwise their table waits."""


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """A place that rows of Postgres go to."""

    type: str
    """penstock, clickhouse or iceberg."""
    url: str | None = None
    """The address of ClickHouse's HTTP interface, or of a server of Penstock."""
    database: str = "default"
    """The database of the tables in ClickHouse."""
    user: str | None = None
    """The user of ClickHouse."""
    password: str | None = None
    """The password; the variable PENSTOCK_STORE_<NAME>_PASSWORD stands before it."""
    namespace: str = "default"
    """The namespace of the tables in Iceberg."""
    catalog: Mapping[str, str] = field(default_factory=dict)
    """Properties of the Iceberg catalog, as PyIceberg takes them."""
    tables: Mapping[str, str] = field(default_factory=dict)
    """The table here, by `schema.table` in Postgres; others have the name that they have there."""


@dataclass(frozen=True, slots=True)
class Settings:
    """A whole `penstock.toml`."""

    dialect: Dialect = "clickhouse"
    server: ServerSettings = ServerSettings()
    spark: SparkSettings = field(default_factory=SparkSettings)
    catalog: Mapping[str, str] = field(default_factory=dict)
    """Properties of the Iceberg catalog (`type`, `uri`, `warehouse` …); empty: the embedded catalog."""
    python: PythonSettings = PythonSettings()
    state: StateSettings = StateSettings()
    deploy: DeploySettings = DeploySettings()
    flow: FlowSettings = FlowSettings()
    backfill: BackfillSettings = BackfillSettings()
    inbox: InboxSettings = InboxSettings()
    copies: CopySettings = CopySettings()
    imports: ImportSettings = ImportSettings()
    sinks: SinkSettings = SinkSettings()
    traces: TraceSettings = TraceSettings()
    maintenance: MaintenanceSettings = MaintenanceSettings()
    postgres: PostgresSettings = PostgresSettings()
    stores: Mapping[str, StoreSettings] = field(default_factory=dict)
    """Where rows of Postgres go, by name."""


def secret_values(settings: Settings) -> tuple[str, ...]:
    """The passwords, keys and tokens among the settings, sorted."""
    found = {*_secrets_in_properties(settings.catalog), *_secrets_in_properties(settings.spark.conf)}
    found.update(_secrets_in_address(settings.state.url or ""))
    found.update(_secrets_in_address(settings.postgres.dsn or ""))
    found.update((*_secrets_in_address(settings.traces.endpoint or ""), *_query_values(settings.traces.endpoint or "")))
    for store in settings.stores.values():
        found.update(_secrets_in_properties(store.catalog))
        found.update((*_secrets_in_address(store.url or ""), *filter(None, [store.password])))
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


def _query_values(text: str) -> Iterator[str]:
    """What a URL has behind its question mark: for a collector that is a key, whatever it is called."""
    query = text.partition("?")[2].partition("#")[0]
    yield from (value for _, value in parse_qsl(query))
