"""Endpoints that list pages, sources and visitors: those with the most visits first."""

from pydantic import BaseModel

from app.parts import DASHBOARD, query
from penstock import Api


class PageVisits(BaseModel):
    pathname: str
    visits: int
    hits: int
    hits_a_visit: float


class SourceVisits(BaseModel):
    source: str
    visits: int
    hits: int


class CampaignVisits(BaseModel):
    campaign: str
    visits: int
    hits: int
    mediums: list[str]


class BrowserVisits(BaseModel):
    browser: str
    visits: int
    hits: int


class DeviceVisits(BaseModel):
    device: str
    visits: int
    hits: int


class CountryVisits(BaseModel):
    location: str
    visits: int
    hits: int


class SessionEnd(BaseModel):
    page: str
    sessions: int
    bounces: int
    bounce_rate: float


Api[None, PageVisits](
    "top_pages",
    description="The pages with the most visits.",
    tokens=DASHBOARD,
    sql=query("""
        %
        SELECT
            pathname,
            uniqMerge(visits) AS visits,
            countMerge(hits) AS hits,
            round(hits / visits, 2) AS hits_a_visit
        FROM $pages
        WHERE 1
            $days
            $visitors
        GROUP BY pathname
        ORDER BY visits DESC, hits DESC, pathname
        $shown
    """),
)
Api[None, SourceVisits](
    "top_sources",
    description="Where visitors come from.",
    tokens=DASHBOARD,
    sql=query("""
        %
        SELECT
            source,
            uniqMerge(visits) AS visits,
            countMerge(hits) AS hits
        FROM $sources
        WHERE 1 AND source != domainWithoutWWW({{ String(own_site, 'https://www.example.com', description="Referrers of this site are left out") }})
            $days
            $visitors
        GROUP BY source
        ORDER BY visits DESC, hits DESC, source
        $shown
    """),
)
Api[None, CampaignVisits](
    "top_campaigns",
    description="Campaigns by any of their three marks.",
    tokens=DASHBOARD,
    nodes={
        "campaigns": query("""
            %
            SELECT
                {{ column(by, 'utm_source') }} AS campaign,
                uniqMerge(visits) AS visits,
                countMerge(hits) AS hits,
                groupUniqArray(utm_medium) AS mediums_unsorted,
                arraySort(mediums_unsorted) AS mediums
            FROM $campaigns
            WHERE 1
                $days
                {% if defined(medium) %} AND utm_medium LIKE concat('%', {{ String(medium) }}, '%') {% end %}
            GROUP BY campaign
            ORDER BY visits DESC, campaign
            $shown
        """),
    },
    sql=query("""
        SELECT * EXCEPT (mediums_unsorted) FROM campaigns ORDER BY visits DESC, campaign
    """),
)

VISITORS_BY = """
    %
    SELECT
        $place,
        uniqMerge(visits) AS visits,
        countMerge(hits) AS hits
    FROM $pages
    WHERE 1
        $days
        $visitors
    GROUP BY $place
    ORDER BY visits DESC, hits DESC, $place
    $shown
"""
Api[None, BrowserVisits](
    "top_browsers",
    description="The browsers of the visitors.",
    tokens=DASHBOARD,
    sql=query(VISITORS_BY, place="browser"),
)
Api[None, DeviceVisits](
    "top_devices",
    description="The devices of the visitors.",
    tokens=DASHBOARD,
    sql=query(VISITORS_BY, place="device"),
)
Api[None, CountryVisits](
    "top_locations",
    description="The countries of the visitors.",
    tokens=DASHBOARD,
    sql=query(VISITORS_BY, place="location"),
)

for end, read, what in (("entry", "argMin", "begin"), ("exit", "argMax", "end")):
    Api[None, SessionEnd](
        f"{end}_pages",
        description=f"On which pages sessions {what}.",
        tokens=DASHBOARD,
        nodes={
            "sessions": query(
                """
                %
                SELECT
                    session_id,
                    any(device) AS device,
                    any(browser) AS browser,
                    any(location) AS location,
                    $page AS page,
                    countMerge(hits) AS hits
                FROM $sessions
                WHERE 1
                    $days
                GROUP BY session_id
            """,
                page=f"{read}Merge({end}_page)",
            ),
        },
        sql=query("""
            %
            SELECT
                page,
                count() AS sessions,
                countIf(hits = 1) AS bounces,
                round(bounces * 100 / sessions, 2) AS bounce_rate
            FROM sessions
            WHERE 1
                $visitors
            GROUP BY page
            ORDER BY sessions DESC, page
            $shown
        """),
    )
