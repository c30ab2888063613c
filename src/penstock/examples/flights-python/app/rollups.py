"""What is kept for each day, hour and month: states of aggregates, which materialized views fill."""

from datetime import date
from typing import Annotated

from pydantic import BaseModel

from app.tables import flights, weather
from penstock import (
    AggregateFunction,
    AggregatingMergeTreeEngine,
    DateTime,
    MaterializedView,
    MaterializedViewOptions,
    OlapConfig,
    OlapTable,
)

LowCardinality = Annotated[str, "LowCardinality"]
Count = Annotated[int, AggregateFunction("count")]
Average = Annotated[float, AggregateFunction("avg", [float | None])]
Largest = Annotated[float, AggregateFunction("max", [float | None])]
Distinct = Annotated[int, AggregateFunction("uniq", [str | None])]


class CarrierDay(BaseModel):
    carrier: LowCardinality
    date: date
    flights: Count
    avg_delay: Average
    max_delay: Largest
    planes: Distinct


class CarrierMonth(BaseModel):
    carrier: LowCardinality
    month_start: date
    flights: Count
    avg_delay: Average
    max_delay: Largest
    planes: Distinct


class RouteHour(BaseModel):
    origin: LowCardinality
    dest: LowCardinality
    hour_start: DateTime
    flights: Count
    avg_delay: Average
    max_delay: Largest
    planes: Distinct


class WeatherDay(BaseModel):
    origin: LowCardinality
    date: date
    hours: Count
    avg_temp: Average
    min_visib: Annotated[float, AggregateFunction("min", [float])]
    max_gust: Largest


carrier_daily = OlapTable[CarrierDay](
    "carrier_daily",
    OlapConfig(
        description="Flights, delays and planes of a carrier on a day. Filled by `carrier_daily_mv`.",
        engine=AggregatingMergeTreeEngine(),
        partition_by="toYYYYMM(date)",
        order_by_fields=["carrier", "date"],
    ),
)
carrier_monthly = OlapTable[CarrierMonth](
    "carrier_monthly",
    OlapConfig(
        description="The days of `carrier_daily`, rolled up to months: a materialized view over a materialized view.",
        engine=AggregatingMergeTreeEngine(),
        order_by_fields=["carrier", "month_start"],
    ),
)
route_hourly = OlapTable[RouteHour](
    "route_hourly",
    OlapConfig(
        description="Flights, delays and planes of a route in an hour. Filled by `route_hourly_mv`.",
        engine=AggregatingMergeTreeEngine(),
        partition_by="toYYYYMM(hour_start)",
        order_by_fields=["origin", "dest", "hour_start"],
    ),
)
weather_daily = OlapTable[WeatherDay](
    "weather_daily",
    OlapConfig(
        description="The weather of an airport on a day. Filled by `weather_daily_mv`.",
        engine=AggregatingMergeTreeEngine(),
        order_by_fields=["origin", "date"],
    ),
)

MaterializedView[CarrierDay](
    MaterializedViewOptions(
        materialized_view_name="carrier_daily_mv",
        select_tables=[flights],
        select_statement=f"""
            SELECT
                carrier,
                toDate(time_hour) AS date,
                countState() AS flights,
                avgState(dep_delay) AS avg_delay,
                maxState(dep_delay) AS max_delay,
                uniqState(tailnum) AS planes
            FROM {flights}
            GROUP BY carrier, date
        """,
    ),
    target_table=carrier_daily,
)
MaterializedView[CarrierMonth](
    MaterializedViewOptions(
        materialized_view_name="carrier_monthly_mv",
        select_tables=[carrier_daily],
        select_statement=f"""
            SELECT
                carrier,
                toStartOfMonth(date) AS month_start,
                countMergeState(flights) AS flights,
                avgMergeState(avg_delay) AS avg_delay,
                maxMergeState(max_delay) AS max_delay,
                uniqMergeState(planes) AS planes
            FROM {carrier_daily}
            GROUP BY carrier, month_start
        """,
    ),
    target_table=carrier_monthly,
)
MaterializedView[RouteHour](
    MaterializedViewOptions(
        materialized_view_name="route_hourly_mv",
        select_tables=[flights],
        select_statement=f"""
            SELECT
                origin,
                dest,
                toStartOfHour(time_hour) AS hour_start,
                countState() AS flights,
                avgState(arr_delay) AS avg_delay,
                maxState(arr_delay) AS max_delay,
                uniqState(tailnum) AS planes
            FROM {flights}
            GROUP BY origin, dest, hour_start
        """,
    ),
    target_table=route_hourly,
)
MaterializedView[WeatherDay](
    MaterializedViewOptions(
        materialized_view_name="weather_daily_mv",
        select_tables=[weather],
        select_statement=f"""
            SELECT
                origin,
                toDate(time_hour) AS date,
                countState() AS hours,
                avgState(temp) AS avg_temp,
                minState(visib) AS min_visib,
                maxState(wind_gust) AS max_gust
            FROM {weather}
            GROUP BY origin, date
        """,
    ),
    target_table=weather_daily,
)
