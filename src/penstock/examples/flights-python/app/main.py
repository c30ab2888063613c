"""The endpoints; with the modules that it imports, this is the project."""

from datetime import date

from pydantic import BaseModel

from app.rollups import carrier_daily, carrier_monthly, route_hourly, weather_daily
from penstock import Api, Token

DASHBOARD = [Token("dashboard", "READ")]


class CarrierMonthDelay(BaseModel):
    carrier: str
    month_start: date
    flights: int
    avg_delay: float | None
    planes: int


class RouteDelay(BaseModel):
    origin: str
    dest: str
    flights: int
    avg_delay: float | None
    max_delay: float | None


class TopCarrier(BaseModel):
    carrier: str
    flights: int
    avg_delay: float | None
    max_delay: float | None
    planes: int


class AirportWeather(BaseModel):
    origin: str
    hours: int
    avg_temp: float | None
    min_visib: float
    max_gust: float | None


Api[None, CarrierMonthDelay](
    "monthly",
    description="Every carrier's months, from the rollup of the rollup.",
    tokens=DASHBOARD,
    sql=f"""
        SELECT
            carrier,
            month_start,
            countMerge(flights) AS flights,
            round(avgMerge(avg_delay), 2) AS avg_delay,
            uniqMerge(planes) AS planes
        FROM {carrier_monthly}
        GROUP BY carrier, month_start
        ORDER BY month_start, carrier
    """,
)
Api[None, RouteDelay](
    "route_delays",
    description="The busiest routes and how late they arrive.",
    tokens=DASHBOARD,
    nodes={
        "routes": f"""
            SELECT
                origin,
                dest,
                countMerge(flights) AS flights,
                round(avgMerge(avg_delay), 2) AS avg_delay,
                maxMerge(max_delay) AS max_delay
            FROM {route_hourly}
            GROUP BY origin, dest
        """
    },
    sql="SELECT * FROM routes ORDER BY flights DESC, origin, dest LIMIT 20",
)
Api[None, TopCarrier](
    "top_carriers",
    description="The carriers with the most flights, and how late they leave.",
    tokens=DASHBOARD,
    sql=f"""
        SELECT
            carrier,
            countMerge(flights) AS flights,
            round(avgMerge(avg_delay), 2) AS avg_delay,
            maxMerge(max_delay) AS max_delay,
            uniqMerge(planes) AS planes
        FROM {carrier_daily}
        GROUP BY carrier
        ORDER BY flights DESC, carrier
        LIMIT 10
    """,
)
Api[None, AirportWeather](
    "weather_summary",
    description="The weather at each airport over all days seen.",
    tokens=DASHBOARD,
    sql=f"""
        SELECT
            origin,
            countMerge(hours) AS hours,
            round(avgMerge(avg_temp), 1) AS avg_temp,
            minMerge(min_visib) AS min_visib,
            maxMerge(max_gust) AS max_gust
        FROM {weather_daily}
        GROUP BY origin
        ORDER BY origin
    """,
)
