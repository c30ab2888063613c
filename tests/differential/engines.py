"""The rows and types of a query on either engine.

In: a query. Out: rows as plain values that can be compared between the engines. Nothing is rounded.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
import struct
import threading
from dataclasses import dataclass, field
from decimal import Decimal
from zoneinfo import ZoneInfo

from chdb.session import Session
from pyspark.sql import SparkSession
from tests.differential.sample import ROWS, SCHEMA, clickhouse_literal, project

from clickhouse_session import open_session
from penstock.deploy.queries.answers.json_values import json_converter, text_converter
from penstock.errors import Location
from penstock.model import types as t
from penstock.model.datasource import Text
from penstock.model.types import Type, unwrap_type
from penstock.sql.compile import compile_sql
from penstock.sql.query import Query
from penstock.sql.stored_types import spark_type

Rows = list[tuple[object, ...]]


@dataclass
class ClickHouse:
    session: Session = field(default_factory=open_session)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.session.query("CREATE DATABASE IF NOT EXISTS d ENGINE = Atomic")
        columns = ", ".join(f"`{name}` {of}" for name, of in SCHEMA.items())
        for name in ("t", "none"):
            self.session.query(f"CREATE TABLE d.{name} ({columns}) ENGINE = Memory")
        rows = ", ".join("(" + ", ".join(map(clickhouse_literal, row)) + ")" for row in ROWS)
        self.session.query(f"INSERT INTO d.t VALUES {rows}")

    def rows(self, sql: str, more: str = "") -> tuple[list[str], list[str], Rows]:
        """Names and types of the columns, and the rows; `more` are further settings, each with a comma before it."""
        own = "output_format_json_quote_denormals=1, session_timezone='UTC', joined_subquery_requires_alias=0"
        settings = f"SETTINGS {own}{more}"
        with self._one_at_a_time:
            self.session.query("USE d")
            try:
                answer = self.session.query(f"{sql} {settings}", "JSONCompact").bytes()
            except UnicodeDecodeError as error:
                raise RuntimeError(f"an error whose text is no UTF-8: {error.object!r}") from error
        document = json.loads(answer)
        names = [each["name"] for each in document["meta"]]
        types = [each["type"] for each in document["meta"]]
        return names, types, [tuple(row) for row in document["data"]]


@dataclass
class Spark:
    session: SparkSession

    def __post_init__(self) -> None:
        ddl = ", ".join(f"`{name}` {spark_type(column_type(name))}" for name in SCHEMA)
        frame = self.session.createDataFrame([_spark_row(row) for row in ROWS], ddl)
        frame.coalesce(1).createOrReplaceTempView("__all_t__")
        frame.limit(0).createOrReplaceTempView("__all_none__")

    def compile(self, sql: str) -> Query:
        return compile_sql(project(), Text(sql, Location("q.sql")), "clickhouse")

    def rows(self, query: Query) -> Rows:
        found = self.session.sql(query.sql).collect()
        return [tuple(shown(value, of) for value, (_, of) in zip(row, query.columns, strict=True)) for row in found]


def _spark_row(row: tuple[object, ...]) -> tuple[object, ...]:
    """UInt64 is a decimal in Spark."""
    of = list(SCHEMA.values())
    return tuple(Decimal(str(value)) if kind == "UInt64" else value for value, kind in zip(row, of, strict=True))


def column_type(name: str) -> Type:
    column = project().datasources[0].column(name)
    assert column is not None
    return column.type


def shown(value: object, of: Type) -> object:
    """A Spark value as ClickHouse's JSON has it."""
    match unwrap_type(of), value:
        case _, None:
            return None
        case t.Int(), _:
            assert not isinstance(value, bool), "a number, not a boolean"
            return int(value)  # type: ignore[call-overload]
        case t.Decimal(), Decimal():
            return value
        case t.Float() | t.Decimal(), _:
            return _float(float(value))  # type: ignore[arg-type]
        case t.DateTime64(), Decimal():
            return json_converter(of)(value)
        case t.DateTime() | t.DateTime64(), dt.datetime():
            return _moment(value, unwrap_type(of))
        case t.Date(), _:
            return str(value)
        case _:
            return _nested(value, unwrap_type(of))


def _nested(value: object, of: Type) -> object:
    match of, value:
        case t.Array(inner), list():
            return [shown(each, inner) for each in value]
        case t.Map(key, item), dict():
            return {_shown_key(k, key): shown(v, item) for k, v in value.items()}
        case t.Tuple(fields), tuple() if fields and all(name for name, _ in fields):
            return {name: shown(each, inner) for each, (name, inner) in zip(value, fields, strict=True)}
        case t.Tuple(fields), tuple():
            return [shown(each, inner) for each, (_, inner) in zip(value, fields, strict=True)]
        case _:
            return value


def _shown_key(key: object, of: Type) -> str:
    """As the server shows it."""
    return text_converter(of)(key)


def _float(value: float) -> object:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def _moment(value: dt.datetime, of: Type) -> str:
    zone = getattr(of, "zone", None) or "UTC"
    moment = value.astimezone(dt.timezone.utc).astimezone(ZoneInfo(zone))
    text = f"{moment:%m-%d %H:%M:%S.%f}"
    text = f"{moment.year:04}-{text}"
    precision = of.precision if isinstance(of, t.DateTime64) else 0
    return text[:19] + (f".{text[20 : 20 + precision]}" if precision else "")


def same(ours: object, theirs: object) -> bool:
    """Equal values; numbers compare by value, one unit of the last digit apart at most."""
    match ours, theirs:
        case (float(), int() | float()) if not isinstance(theirs, bool):
            return _same_number(ours, float(theirs))
        case (list() | tuple(), list() | tuple()):
            return len(ours) == len(theirs) and all(map(same, ours, theirs))
        case (dict(), dict()):
            return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in ours)
        case (Decimal(), str()):
            return ours == Decimal(theirs)
        case (Decimal(), int() | float()):
            return _same_number(float(ours), float(theirs))
        case ("nan", "-nan"):
            return True
        case (str(), str()):
            return readable(ours) == readable(theirs)
        case _:
            return ours == theirs


def readable(text: str) -> str:
    """Of bytes that are no UTF-8 ClickHouse's JSON shows several as one replacement character."""
    return re.sub("\ufffd+", "\ufffd", text)


def _same_number(a: float, b: float) -> bool:
    """ClickHouse writes a Float32 by the fewest digits that tell it from its neighbours."""
    shortest = struct.unpack("f", struct.pack("f", b))[0] if abs(b) <= 3.4028235e38 else b
    return math.isclose(a, b, rel_tol=1e-15, abs_tol=0) or a == shortest
