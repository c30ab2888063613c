"""The project of the soak: 20 tables that are fed in different ways, one of them by a view that fails.

In: the number of the version. Out: a project folder as a mapping of paths to texts. Invariant: two versions differ in
one endpoint and in nothing else, so a deployment of the next one moves no row; `staged_version` differs in a table.
"""

from __future__ import annotations

from collections.abc import Mapping

BUSY = ("orders", "clicks", "views", "payments")
IDLE = "countries"
STREAMS = (*BUSY, IDLE)
POISON = "poison"
"""The kind of the row at which the view `payments_errors_mv` fails for good."""

SETTINGS = """
[server]
max_query_seconds = 5

[spark]
master = "local[2]"
driver_memory = "3g"

[flow]
max_step_seconds = 10

[inbox]
min_free_bytes = 1

[maintenance]
interval_seconds = 3
compact_files = 16
snapshot_seconds = 10
inbox_seconds = 30
orphan_interval_seconds = 120
log_seconds = 240
deployment_seconds = 240
key_seconds = 120
audit_seconds = 240
"""

LANDING = """SCHEMA >
    `timestamp` DateTime `json:$.timestamp`,
    `id` UInt64 `json:$.id`,
    `kind` LowCardinality(String) `json:$.kind`,
    `amount` Float64 `json:$.amount`

ENGINE MergeTree
ENGINE_PARTITION_KEY toYYYYMM(timestamp)
ENGINE_SORTING_KEY id
"""
HOURLY = """SCHEMA >
    `hour` DateTime,
    `kind` LowCardinality(String),
    `rows` AggregateFunction(count),
    `amount` AggregateFunction(sum, Float64)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY hour, kind
"""
DAILY = HOURLY.replace("`hour` DateTime", "`day` Date").replace("hour, kind", "day, kind")
LARGE = """SCHEMA >
    `timestamp` DateTime,
    `id` UInt64,
    `amount` Float64

ENGINE ReplacingMergeTree
ENGINE_SORTING_KEY id
"""


def soak_version(number: int) -> Mapping[str, str]:
    """The project with its `number`-th endpoint."""
    files = {"penstock.toml": SETTINGS}
    for stream in STREAMS:
        files |= _stream_files(stream)
    files["pipes/totals.pipe"] = _pipe(
        "totals", f"SELECT {number} AS version, countMerge(rows) AS n FROM orders_hourly", "TYPE endpoint"
    )
    return files


def staged_version(number: int) -> Mapping[str, str]:
    """`soak_version` with a table of its own: it keeps a place in `orders`, from which it never goes on when paused."""
    files = dict(soak_version(number))
    files["datasources/orders_copy.datasource"] = LARGE
    files["pipes/orders_copy_mv.pipe"] = _view("orders_copy", "SELECT timestamp, id, amount FROM orders")
    return files


def _stream_files(stream: str) -> dict[str, str]:
    """A landing table and three tables below it: hours from rows, days from hours, and large amounts."""
    hourly = "SELECT toStartOfHour(timestamp) AS hour, kind, countState() AS rows, sumState(amount) AS amount"
    daily = "SELECT toDate(hour) AS day, kind, countMergeState(rows) AS rows, sumMergeState(amount) AS amount"
    return {
        f"datasources/{stream}.datasource": LANDING,
        f"datasources/{stream}_hourly.datasource": HOURLY,
        f"datasources/{stream}_daily.datasource": DAILY,
        f"datasources/{stream}_large.datasource": LARGE,
        f"pipes/{stream}_hourly_mv.pipe": _view(f"{stream}_hourly", f"{hourly} FROM {stream} GROUP BY hour, kind"),
        f"pipes/{stream}_daily_mv.pipe": _view(f"{stream}_daily", f"{daily} FROM {stream}_hourly GROUP BY day, kind"),
        f"pipes/{stream}_large_mv.pipe": _view(f"{stream}_large", _large_rows(stream)),
    }


def _large_rows(stream: str) -> str:
    """The view that of one stream fails at one kind of row, as a view that was written too strictly does."""
    failing = f" AND throwIf(kind = '{POISON}', 'a poison row') = 0" if stream == "payments" else ""
    return f"SELECT timestamp, id, amount FROM {stream} WHERE amount > 90{failing}"


def _view(target: str, query: str) -> str:
    return _pipe(f"{target}_rows", query, f"TYPE materialized\nDATASOURCE {target}")


def _pipe(node: str, query: str, last: str) -> str:
    return f"NODE {node}\nSQL >\n    {query}\n{last}\n"
