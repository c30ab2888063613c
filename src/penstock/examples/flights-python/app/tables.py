"""What arrives: flights and the weather."""

from typing import Annotated

from pydantic import BaseModel

from penstock import DateTime, OlapConfig, OlapTable, Token, UInt8, UInt16, UInt32

LowCardinality = Annotated[str, "LowCardinality"]


class Flight(BaseModel):
    year: UInt16
    month: UInt8
    day: UInt8
    dep_time: UInt16 | None
    sched_dep_time: UInt16
    dep_delay: float | None
    arr_time: UInt16 | None
    sched_arr_time: UInt16
    arr_delay: float | None
    carrier: LowCardinality
    flight: str
    tailnum: str | None
    origin: LowCardinality
    dest: LowCardinality
    distance: UInt32
    hour: UInt8
    minute: UInt8
    time_hour: DateTime


class Weather(BaseModel):
    origin: LowCardinality
    year: UInt16
    month: UInt8
    day: UInt8
    hour: UInt8
    temp: float | None
    dewp: float | None
    humid: float | None
    wind_dir: UInt16 | None
    wind_speed: float | None
    wind_gust: float | None
    precip: float
    pressure: float | None
    visib: float
    time_hour: DateTime


flights = OlapTable[Flight](
    "flights",
    OlapConfig(
        description="One row a flight that left New York City, as the airport reports it.",
        order_by_fields=["carrier", "time_hour"],
        partition_by="toYYYYMM(time_hour)",
        tokens=[Token("airport", "APPEND")],
    ),
)
weather = OlapTable[Weather](
    "weather",
    OlapConfig(
        description="One row an hour and airport: what the weather station measured.",
        order_by_fields=["origin", "time_hour"],
        tokens=[Token("airport", "APPEND")],
    ),
)
