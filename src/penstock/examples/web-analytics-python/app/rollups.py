"""What is kept for each day, hour and session: states of aggregates, which materialized views fill."""

from datetime import date
from typing import Annotated

from pydantic import BaseModel

from app.events import LowCardinality, hits
from penstock import (
    AggregateFunction,
    AggregatingMergeTreeEngine,
    DateTime,
    MaterializedView,
    MaterializedViewOptions,
    OlapConfig,
    OlapTable,
    SimpleAggregateFunction,
)

Count = Annotated[int, AggregateFunction("count")]
Distinct = Annotated[int, AggregateFunction("uniq", [str])]
PageAt = [str, DateTime]
AnyText = Annotated[str, SimpleAggregateFunction("any", str)]


class PageDay(BaseModel):
    date: date
    device: LowCardinality
    browser: LowCardinality
    location: LowCardinality
    pathname: str
    visits: Distinct
    hits: Count


class SourceDay(BaseModel):
    date: date
    device: LowCardinality
    browser: LowCardinality
    location: LowCardinality
    source: str
    visits: Distinct
    hits: Count


class CampaignDay(BaseModel):
    date: date
    utm_source: str
    utm_medium: str
    utm_campaign: str
    visits: Distinct
    hits: Count


class Hour(BaseModel):
    hour: DateTime
    device: LowCardinality
    location: LowCardinality
    visits: Distinct
    hits: Count


class SessionDay(BaseModel):
    date: date
    session_id: str
    device: AnyText
    browser: AnyText
    location: AnyText
    first_hit: Annotated[DateTime, SimpleAggregateFunction("min", DateTime)]
    latest_hit: Annotated[DateTime, SimpleAggregateFunction("max", DateTime)]
    entry_page: Annotated[str, AggregateFunction("argMin", PageAt)]
    exit_page: Annotated[str, AggregateFunction("argMax", PageAt)]
    pages: Distinct
    hits: Count


pages = OlapTable[PageDay](
    "analytics_pages_mv",
    OlapConfig(
        description="Visits and hits of a page on a day.",
        engine=AggregatingMergeTreeEngine(),
        partition_by="toYYYYMM(date)",
        order_by_fields=["date", "device", "browser", "location", "pathname"],
    ),
)
sources = OlapTable[SourceDay](
    "analytics_sources_mv",
    OlapConfig(
        description="Visits and hits that came from a site on a day.",
        engine=AggregatingMergeTreeEngine(),
        partition_by="toYYYYMM(date)",
        order_by_fields=["date", "device", "browser", "location", "source"],
    ),
)
campaigns = OlapTable[CampaignDay](
    "analytics_campaigns_mv",
    OlapConfig(
        description="Visits and hits of a campaign on a day.",
        engine=AggregatingMergeTreeEngine(),
        partition_by="toYYYYMM(date)",
        order_by_fields=["date", "utm_source", "utm_medium", "utm_campaign"],
    ),
)
hours = OlapTable[Hour](
    "analytics_hours_mv",
    OlapConfig(
        description="Visits and hits of an hour, so that a day of any time zone can be put together.",
        engine=AggregatingMergeTreeEngine(),
        partition_by="toYYYYMM(hour)",
        order_by_fields=["hour", "device", "location"],
    ),
)
sessions = OlapTable[SessionDay](
    "analytics_sessions_mv",
    OlapConfig(
        description="When a session of a day began and ended, where, and how much it saw.",
        engine=AggregatingMergeTreeEngine(),
        partition_by="toYYYYMM(date)",
        order_by_fields=["date", "session_id"],
    ),
)

MaterializedView[PageDay](
    MaterializedViewOptions(
        materialized_view_name="analytics_pages",
        select_tables=[hits],
        select_statement=f"""
            SELECT
                toDate(timestamp) AS date,
                device,
                browser,
                location,
                pathname,
                uniqState(session_id) AS visits,
                countState() AS hits
            FROM {hits}
            GROUP BY
                date,
                device,
                browser,
                location,
                pathname
        """,
    ),
    target_table=pages,
)
MaterializedView[SourceDay](
    MaterializedViewOptions(
        materialized_view_name="analytics_sources",
        select_tables=[hits],
        select_statement=f"""
            SELECT
                toDate(timestamp) AS date,
                device,
                browser,
                location,
                source,
                uniqState(session_id) AS visits,
                countState() AS hits
            FROM {hits}
            GROUP BY
                date,
                device,
                browser,
                location,
                source
        """,
    ),
    target_table=sources,
)
MaterializedView[CampaignDay](
    MaterializedViewOptions(
        materialized_view_name="analytics_campaigns",
        select_tables=[hits],
        select_statement=f"""
            SELECT
                toDate(timestamp) AS date,
                utm_source,
                utm_medium,
                utm_campaign,
                uniqState(session_id) AS visits,
                countState() AS hits
            FROM {hits}
            WHERE utm_source != '' OR utm_campaign != ''
            GROUP BY date, utm_source, utm_medium, utm_campaign
        """,
    ),
    target_table=campaigns,
)
MaterializedView[Hour](
    MaterializedViewOptions(
        materialized_view_name="analytics_hours",
        select_tables=[hits],
        select_statement=f"""
            SELECT
                toStartOfHour(timestamp) AS hour,
                device,
                location,
                uniqState(session_id) AS visits,
                countState() AS hits
            FROM {hits}
            GROUP BY
                hour,
                device,
                location
        """,
    ),
    target_table=hours,
)
MaterializedView[SessionDay](
    MaterializedViewOptions(
        materialized_view_name="analytics_sessions",
        select_tables=[hits],
        select_statement=f"""
            SELECT
                toDate(timestamp) AS date,
                session_id,
                anySimpleState(device) AS device,
                anySimpleState(browser) AS browser,
                anySimpleState(location) AS location,
                minSimpleState(timestamp) AS first_hit,
                maxSimpleState(timestamp) AS latest_hit,
                argMinState(pathname, timestamp) AS entry_page,
                argMaxState(pathname, timestamp) AS exit_page,
                uniqState(pathname) AS pages,
                countState() AS hits
            FROM {hits}
            GROUP BY
                date,
                session_id
        """,
    ),
    target_table=sessions,
)
