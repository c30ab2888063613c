"""The flights project, as values: the first customer of the SQL layer.

In: nothing. Out: `PROJECT` and the parts to build others. Invariant: it
compiles without a problem.
"""

from __future__ import annotations

from penstock.errors import InvalidQuery, Location
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.pipe import Endpoint, Materialized, Node, NodeKind, Pipe, Standard
from penstock.model.project import Project
from penstock.parse.column_types import parse_type
from penstock.sql.compile import compile_sql
from penstock.sql.query import Query

LC = "LowCardinality(String)"


def text(sql: str, file: str = "q.sql") -> Text:
    return Text(sql, Location(file, 1, 1))


def column(name: str, of: str, default: str | None = None) -> Column:
    return Column(name, parse_type(of), default=text(default, f"{name}.default") if default else None)


def datasource(name: str, schema: dict[str, str]) -> DataSource:
    return DataSource(name, tuple(column(key, of) for key, of in schema.items()), Engine())


def pipe(name: str, *sqls: str, kind: NodeKind | None = None) -> Pipe:
    """Nodes n0, n1 …, the last one of the kind."""
    kinds: list[NodeKind] = [Standard()] * (len(sqls) - 1) + [kind or Endpoint()]
    pairs = enumerate(zip(sqls, kinds, strict=True))
    nodes = (Node(f"n{place}", text(sql, f"{name}.pipe"), of) for place, (sql, of) in pairs)
    return Pipe(name, tuple(nodes))


def view(name: str, target: str, *sqls: str) -> Pipe:
    return pipe(name, *sqls, kind=Materialized(target, Location(f"{name}.pipe", 9, 1)))


FLIGHTS = datasource(
    "flights",
    {
        "year": "UInt16",
        "month": "UInt8",
        "day": "UInt8",
        "time_hour": "DateTime",
        "carrier": LC,
        "flight": "String",
        "tailnum": "Nullable(String)",
        "origin": LC,
        "dest": LC,
        "dep_delay": "Nullable(Float64)",
        "arr_delay": "Nullable(Float64)",
        "distance": "UInt32",
    },
)
DAILY = datasource(
    "carrier_daily",
    {
        "carrier": LC,
        "day": "Date",
        "flights": "AggregateFunction(count)",
        "avg_delay": "AggregateFunction(avg, Nullable(Float64))",
        "max_delay": "AggregateFunction(max, Nullable(Float64))",
        "planes": "AggregateFunction(uniq, Nullable(String))",
    },
)
MONTHLY = datasource(
    "carrier_monthly",
    {
        "carrier": LC,
        "month": "Date",
        "flights": "AggregateFunction(count)",
        "avg_delay": "AggregateFunction(avg, Nullable(Float64))",
        "planes": "AggregateFunction(uniq, Nullable(String))",
    },
)
TO_DAILY = view(
    "to_daily",
    "carrier_daily",
    "SELECT carrier, toDate(time_hour) AS day, countState() AS flights, avgState(dep_delay) AS avg_delay, "
    "maxState(dep_delay) AS max_delay, uniqState(tailnum) AS planes FROM flights GROUP BY carrier, day",
)
TO_MONTHLY = view(
    "to_monthly",
    "carrier_monthly",
    "SELECT carrier, toStartOfMonth(day) AS month, countMergeState(flights) AS flights, avgMergeState(avg_delay) AS "
    "avg_delay, uniqMergeState(planes) AS planes FROM carrier_daily GROUP BY carrier, month",
)
TOP = pipe(
    "top",
    "SELECT carrier, countMerge(flights) AS flights, round(avgMerge(avg_delay), 2) AS avg_delay, uniqMerge(planes) "
    "planes FROM carrier_daily GROUP BY carrier ORDER BY flights DESC LIMIT 10",
)
PROJECT = Project.of([FLIGHTS, DAILY, MONTHLY], [TO_DAILY, TO_MONTHLY, TOP])


def query(sql: str, project: Project = PROJECT) -> Query:
    return compile_sql(project, text(sql), "clickhouse")


def problems(sql: str, project: Project = PROJECT) -> list[str]:
    """Each problem as `line:column code message (hint)`."""
    try:
        query(sql, project)
    except InvalidQuery as error:
        return [shown(each) for each in error.problems]
    return []


def shown(problem: object) -> str:
    return str(problem).removeprefix("q.sql:")
