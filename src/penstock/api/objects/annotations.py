"""What `Annotated` says of a column beyond its Python type.

In: annotations of the fields of a Pydantic model. Out: markers, and names for the types that Python does not tell
apart. Invariant: a marker is a value that says one thing; the rules of the types themselves are those of datafiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import Field

Value = TypeVar("Value")

if TYPE_CHECKING:
    Key = Annotated[Value, "key"]
else:

    class Key:
        """A column of the sorting key, if the table's config names none. Not of a Nullable column.

        >>> class Account(BaseModel):
        ...     id: Key[UInt64]
        ...     name: str
        >>> accounts = OlapTable[Account]("accounts")
        """

        def __class_getitem__(cls, of: object) -> object:
            return Annotated[of, "key"]


@dataclass(frozen=True, slots=True)
class ClickHouseType:
    """The whole type as datafiles write it. A type that is none is a problem where the project is loaded.

    >>> class Document(BaseModel):
    ...     id: Key[str]
    ...     body: Annotated[dict, ClickHouseType("JSON(a.b UInt32)")]
    >>> documents = OlapTable[Document]("documents")
    """

    text: str


@dataclass(frozen=True, slots=True)
class ClickHousePrecision:
    """Of a `datetime`: DateTime64 with this many digits, from 0 to 9, and a zone.

    >>> class Tick(BaseModel):
    ...     at: Key[Annotated[datetime, ClickHousePrecision(6)]]
    >>> ticks = OlapTable[Tick]("ticks")
    """

    precision: int
    timezone: str | None = "UTC"


@dataclass(frozen=True, slots=True)
class FixedString:
    """Of a `str` or `bytes`: so many bytes, of which those not given are zero.

    >>> class Country(BaseModel):
    ...     code: Key[Annotated[str, FixedString(2)]]
    >>> countries = OlapTable[Country]("countries")
    """

    size: int


@dataclass(frozen=True, slots=True)
class ClickHouseDefault:
    """The expression of a column that a row does not give. It comes before the default value of the field.

    >>> class Arrival(BaseModel):
    ...     id: Key[str]
    ...     at: Annotated[DateTime, ClickHouseDefault("now()")]
    >>> arrivals = OlapTable[Arrival]("arrivals")
    """

    expression: str


@dataclass(frozen=True, slots=True)
class ClickHouseCodec:
    """How a column is compressed; kept, without effect.

    >>> class Sample(BaseModel):
    ...     value: Key[Annotated[float, ClickHouseCodec("Gorilla")]]
    >>> samples = OlapTable[Sample]("samples")
    """

    expression: str


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """The state of an aggregate function over arguments of these types.

    >>> class Average(BaseModel):
    ...     page: Key[str]
    ...     seconds: Annotated[float, AggregateFunction("avg", [float | None])]
    >>> averages = OlapTable[Average]("averages", OlapConfig(engine=AggregatingMergeTreeEngine()))
    """

    agg_func: str
    param_types: Sequence[object] = ()


@dataclass(frozen=True, slots=True)
class SimpleAggregateFunction:
    """A value that an engine merges with a function.

    >>> class Latest(BaseModel):
    ...     page: Key[str]
    ...     at: Annotated[DateTime, SimpleAggregateFunction("max", DateTime)]
    >>> latest = OlapTable[Latest]("latest", OlapConfig(engine=AggregatingMergeTreeEngine()))
    """

    agg_func: str
    arg_type: object


@dataclass(frozen=True, slots=True)
class JsonPath:
    """The place of the value in a row that arrives as JSON. Without it the field, or its alias, is a key of the row.

    >>> class PageView(BaseModel):
    ...     url: Key[Annotated[str, JsonPath("$.page.url")]]
    >>> page_views = OlapTable[PageView]("page_views")
    """

    path: str


@dataclass(frozen=True, slots=True)
class RenamedFrom:
    """The former name of a column, whose values it keeps.

    >>> class Renamed(BaseModel):
    ...     path: Key[Annotated[str, RenamedFrom("page")]]
    >>> renamed = OlapTable[Renamed]("renamed")
    """

    name: str


def clickhouse_decimal(precision: int, scale: int) -> Any:
    """The annotation of a Decimal(precision, scale).

    >>> class Price(BaseModel):
    ...     id: Key[str]
    ...     amount: clickhouse_decimal(18, 4)
    >>> prices = OlapTable[Price]("prices")
    """
    return Annotated[Decimal, Field(max_digits=precision, decimal_places=scale)]


def clickhouse_datetime64(precision: int, timezone: str | None = "UTC") -> Any:
    """The annotation of a DateTime64 with so many digits, and a zone.

    >>> class Departure(BaseModel):
    ...     at: Key[clickhouse_datetime64(3, "Europe/Berlin")]
    >>> departures = OlapTable[Departure]("departures")
    """
    return Annotated[datetime, ClickHousePrecision(precision, timezone)]


def clickhouse_default(expression: str) -> ClickHouseDefault:
    """The marker of a DEFAULT, as `ClickHouseDefault`.

    >>> class Ticket(BaseModel):
    ...     id: Key[str]
    ...     state: Annotated[str, clickhouse_default("'open'")]
    >>> tickets = OlapTable[Ticket]("tickets")
    """
    return ClickHouseDefault(expression)


def simple_aggregated(agg_func: str, arg_type: Any) -> Any:
    """The annotation of a SimpleAggregateFunction.

    >>> class Total(BaseModel):
    ...     page: Key[str]
    ...     hits: simple_aggregated("sum", UInt64)
    >>> totals = OlapTable[Total]("totals", OlapConfig(engine=AggregatingMergeTreeEngine()))
    """
    return Annotated[arg_type, SimpleAggregateFunction(agg_func, arg_type)]


Int8 = Annotated[int, "int8"]
Int16 = Annotated[int, "int16"]
Int32 = Annotated[int, "int32"]
Int64 = Annotated[int, "int64"]
Int128 = Annotated[int, "int128"]
Int256 = Annotated[int, "int256"]
UInt8 = Annotated[int, "uint8"]
UInt16 = Annotated[int, "uint16"]
UInt32 = Annotated[int, "uint32"]
UInt64 = Annotated[int, "uint64"]
UInt128 = Annotated[int, "uint128"]
UInt256 = Annotated[int, "uint256"]
Float32 = Annotated[float, "float32"]
Float64 = Annotated[float, "float64"]
Date32 = Annotated[date, "date32"]
DateTime = Annotated[datetime, "datetime"]
"""A time without a zone of its own; a plain `datetime` is DateTime('UTC')."""
