"""The other endpoints; with the modules that it imports, this is the project."""

from datetime import date, datetime

from pydantic import BaseModel

import app.lists  # noqa: F401 its endpoints belong to the project
from app.parts import DASHBOARD, query
from penstock import Api, Node


class Kpi(BaseModel):
    date: datetime
    visits: int
    pageviews: int
    bounce_rate: float
    avg_session_sec: float


class Minute(BaseModel):
    minute: datetime
    visits: int


class Visitors(BaseModel):
    visits: int
    hits: int


class HourOfWeek(BaseModel):
    weekday: int
    hour_of_day: int
    visits: int
    hits: int


class SessionLength(BaseModel):
    length: str
    sessions: int
    least: int
    most: int
    median_seconds: int


class DayOfPage(BaseModel):
    date: date
    visits: int
    hits: int
    all_visits: int
    share: float
    hits_so_far: int
    change: int


class Comparison(BaseModel):
    visits: int
    visits_before: int
    hits: int
    hits_before: int
    growth: float | None


class Action(BaseModel):
    action: str
    events: int
    sessions: int
    versions: list[str]
    readable: int
    first_seen: datetime
    share: float


class Step(BaseModel):
    page: str
    sessions: int
    share: float


Api[None, Kpi](
    "kpis",
    description="Visits, hits, bounce rate and length of a session, by day or, of a single day, by hour of a time zone.",
    tokens=DASHBOARD,
    nodes={
        "series": Node(
            description="Every day (or hour) of the range, so that those without a hit show as well.",
            sql=query("""
            %
            {% set single_day = defined(date_from) and defined(date_to) and day_diff(date_from, date_to) == 0 %}
            WITH
                toDate({{ Date(date_from, '2026-03-01', description="The first day") }}) AS first_day,
                toDate({{ Date(date_to, '2026-03-08', description="The last day; the same as the first gives hours") }}) AS last_day
            {% if single_day %}
                SELECT arrayJoin(arrayMap(h -> toDateTime(first_day, {{ String(timezone, 'UTC', description="A time zone, as Europe/Madrid") }}) + h * 3600, range(24))) AS date
            {% else %}
                SELECT arrayJoin(arrayMap(d -> first_day + d, range(toUInt32(last_day - first_day + 1)))) AS date
            {% end %}
        """),
        ),
        "sessions": query("""
            %
            {% set single_day = defined(date_from) and defined(date_to) and day_diff(date_from, date_to) == 0 %}
            SELECT
                {% if single_day %}
                    toStartOfHour(toTimeZone(min(timestamp), {{ String(timezone, 'UTC') }})) AS date,
                {% else %}
                    toDate(min(timestamp), {{ String(timezone, 'UTC') }}) AS date,
                {% end %}
                session_id,
                count() AS hits,
                max(timestamp) - min(timestamp) AS seconds
            FROM $hits
            WHERE toDate(timestamp, {{ String(timezone, 'UTC') }}) BETWEEN {{ Date(date_from, '2026-03-01') }} AND {{ Date(date_to, '2026-03-08') }}
                $visitors
            GROUP BY session_id
        """),
        "data": query("""
            SELECT
                date,
                uniq(session_id) AS visits,
                sum(hits) AS pageviews,
                round(countIf(hits = 1) / count(), 4) AS bounce_rate,
                round(avg(seconds), 2) AS avg_session_sec
            FROM sessions
            GROUP BY date
        """),
    },
    sql=query("""
        SELECT a.date AS date, b.visits AS visits, b.pageviews AS pageviews, b.bounce_rate AS bounce_rate, b.avg_session_sec AS avg_session_sec
        FROM series AS a
        LEFT JOIN data AS b ON a.date = b.date
        ORDER BY date
    """),
)
Api[None, Minute](
    "trend",
    description="Visits a minute in the half hour before a moment, with the minutes in which nobody came.",
    tokens=DASHBOARD,
    nodes={
        "minutes": query("""
            %
            WITH {% if defined(at) %} {{ DateTime(at, '2026-03-02 12:00:00', description="The moment; now unless given") }}::DateTime {% else %} now() {% end %} AS moment
            SELECT toStartOfMinute(timestamp) AS minute, uniq(session_id) AS visits
            FROM $hits
            WHERE timestamp > toStartOfMinute(moment) - INTERVAL {{ Int32(minutes, 30) }} MINUTE AND timestamp <= moment
            GROUP BY minute
        """),
    },
    sql=query("""
        %
        SELECT minute, visits
        FROM minutes
        ORDER BY minute
        {% if defined(at) %}
            WITH FILL FROM toStartOfMinute(toDateTime({{ DateTime(at) }})) - INTERVAL {{ Int32(minutes, 30) }} MINUTE TO toStartOfMinute(toDateTime({{ DateTime(at) }})) + INTERVAL 1 MINUTE STEP INTERVAL 1 MINUTE
        {% else %}
            WITH FILL STEP INTERVAL 1 MINUTE
        {% end %}
    """),
)
Api[None, Visitors](
    "current_visitors",
    description="How many people are there: sessions with a hit in the last minutes.",
    tokens=DASHBOARD,
    sql=query("""
        %
        SELECT uniq(session_id) AS visits, count() AS hits
        FROM $hits
        {% if defined(at) %}
            WHERE timestamp BETWEEN toDateTime({{ DateTime(at) }}) - INTERVAL {{ UInt16(minutes, 5) }} MINUTE AND toDateTime({{ DateTime(at) }})
        {% else %}
            WHERE timestamp >= now() - INTERVAL {{ UInt16(minutes, 5, description="How long a session counts after a hit") }} MINUTE
        {% end %}
    """),
)
Api[None, HourOfWeek](
    "active_hours",
    description="Visits and hits by weekday and hour of a time zone.",
    tokens=DASHBOARD,
    sql=query("""
        %
        SELECT
            toDayOfWeek(hour, 0, {{ String(timezone, 'UTC', description="A time zone, as America/New_York") }}) AS weekday,
            toHour(hour, {{ String(timezone, 'UTC') }}) AS hour_of_day,
            uniqMerge(visits) AS visits,
            countMerge(hits) AS hits
        FROM $hours
        WHERE 1
            {% if defined(date_from) %}
                AND toDate(hour, {{ String(timezone, 'UTC') }}) >= {{ Date(date_from, '2026-03-01', description="The first day, as 2026-03-01") }}
            {% else %}
                AND toDate(hour, {{ String(timezone, 'UTC') }}) >= today() - 7
            {% end %}
            {% if defined(date_to) %}
                AND toDate(hour, {{ String(timezone, 'UTC') }}) <= {{ Date(date_to, '2026-03-08', description="The last day, as 2026-03-08") }}
            {% else %}
                AND toDate(hour, {{ String(timezone, 'UTC') }}) <= today()
            {% end %}
            {% if defined(device) %} AND device = {{ String(device) }} {% end %}
        GROUP BY weekday, hour_of_day
        ORDER BY weekday, hour_of_day
    """),
)
Api[None, SessionLength](
    "session_lengths",
    description="How many sessions are how long, in classes of seconds.",
    tokens=DASHBOARD,
    sql=query("""
        %
        {% set bounds = split_to_array(bounds, '10,60,300,1800') %}
        SELECT
            multiIf(
                {% for bound in bounds %}
                    seconds < {{ Int32(bound) }}, {{ String('under ' + bound) }},
                {% end %}
                'longer'
            ) AS length,
            count() AS sessions,
            min(seconds) AS least,
            max(seconds) AS most,
            quantileExact(0.5)(seconds) AS median_seconds
        FROM (
            SELECT session_id, toUInt32(max(latest_hit) - min(first_hit)) AS seconds
            FROM $sessions
            WHERE 1
            $days
            GROUP BY session_id
        )
        GROUP BY length
        ORDER BY least, length
    """),
)
Api[None, DayOfPage](
    "page_detail",
    description="One page: visits a day, their share of all, and the running total.",
    tokens=DASHBOARD,
    nodes={
        "of_page": query("""
            %
            SELECT date, uniqMerge(visits) AS visits, countMerge(hits) AS hits
            FROM $pages
            WHERE pathname = {{ String(pathname, required=True, description="The page, as /pricing") }}
                $days
            GROUP BY date
        """),
        "of_all": query("""
            %
            SELECT date, uniqMerge(visits) AS all_visits
            FROM $pages
            WHERE 1
                $days
            GROUP BY date
        """),
    },
    sql=query("""
        SELECT
            date,
            visits,
            hits,
            all_visits,
            round(visits / all_visits, 4) AS share,
            sum(hits) OVER (ORDER BY date) AS hits_so_far,
            visits - lagInFrame(visits, 1, visits) OVER (ORDER BY date ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS change
        FROM of_all
        LEFT JOIN of_page USING (date)
        ORDER BY date
    """),
)
Api[None, Comparison](
    "compare_periods",
    description="A range of days beside the one of the same length before it.",
    tokens=DASHBOARD,
    nodes={
        "periods": query("""
            %
            {% set days = day_diff(Date(date_from, '2026-03-05'), Date(date_to, '2026-03-08')) + 1 %}
            SELECT
                date >= {{ Date(date_from, '2026-03-05') }} AS is_current,
                uniqMerge(visits) AS visits,
                countMerge(hits) AS hits
            FROM $pages
            WHERE date BETWEEN toDate({{ Date(date_from, '2026-03-05') }}) - {{ Int32(days) }} AND {{ Date(date_to, '2026-03-08') }}
                $visitors
            GROUP BY is_current
        """),
    },
    sql=query("""
        SELECT
            sumIf(p.visits, is_current = 1) AS visits,
            sumIf(p.visits, is_current = 0) AS visits_before,
            sumIf(p.hits, is_current = 1) AS hits,
            sumIf(p.hits, is_current = 0) AS hits_before,
            if(visits_before = 0, NULL, round((visits - visits_before) / visits_before, 4)) AS growth
        FROM periods AS p
    """),
)
Api[None, Action](
    "actions",
    description="All actions that the tracker sends, with their versions and their share.",
    tokens=DASHBOARD,
    sql=query("""
        %
        SELECT
            action,
            count() AS events,
            uniqExact(session_id) AS sessions,
            arraySort(groupUniqArray(version)) AS versions,
            countIf(isValidJSON(payload)) AS readable,
            min(timestamp) AS first_seen,
            round(events / sum(events) OVER (), 4) AS share
        FROM $events
        WHERE {{ sql_and(action__in=Array(action, 'String', defined=False, description="Actions, separated by commas"), version=String(version, defined=False)) }}
        GROUP BY action
        ORDER BY events DESC, action
    """),
)
Api[None, Step](
    "funnel",
    description="How many sessions saw the first page, the first two, the first three, and so on.",
    tokens=DASHBOARD,
    nodes={
        "seen": query("""
            SELECT session_id, groupUniqArray(pathname) AS pages
            FROM $hits
            GROUP BY session_id
        """),
        "steps": query("""
            %
            {% set pages = split_to_array(pages, '/,/pricing,/signup') %}
            {% if len(pages) < 2 %}
                {{ error('`pages` needs at least two pages, separated by commas') }}
            {% end %}
            {% set so_far = '' %}
            {% for last, page in enumerate_with_last(pages) %}
                {% set so_far = page if so_far == '' else so_far + ',' + page %}
                SELECT
                    {{ String(page) }} AS page,
                    count() AS sessions
                FROM seen
                WHERE hasAll(pages, splitByChar(',', {{ String(so_far) }}))
                {% if not last %} UNION ALL {% end %}
            {% end %}
        """),
    },
    sql=query("""
        SELECT page, sessions, round(sessions / max(sessions) OVER (), 4) AS share
        FROM steps
        ORDER BY sessions DESC, page
    """),
)
