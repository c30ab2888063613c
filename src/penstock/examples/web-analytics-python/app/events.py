"""What arrives, and what is read out of it: page hits with the fields of their payload."""

from typing import Annotated

from pydantic import BaseModel

from penstock import DateTime, JsonPath, Node, OlapConfig, OlapTable, Token, View

LowCardinality = Annotated[str, "LowCardinality"]


class AnalyticsEvent(BaseModel):
    timestamp: Annotated[DateTime, JsonPath("$.timestamp")]
    session_id: Annotated[str, JsonPath("$.session_id")]
    action: Annotated[LowCardinality, JsonPath("$.action")]
    version: Annotated[LowCardinality, JsonPath("$.version")]
    payload: Annotated[str, JsonPath("$.payload")]


events = OlapTable[AnalyticsEvent](
    "analytics_events",
    OlapConfig(
        description="What the tracker in the page sends: one row an action, with the details as JSON text.",
        tokens=[Token("tracker", "APPEND")],
        partition_by="toYYYYMM(timestamp)",
        order_by_fields=["timestamp"],
        ttl="timestamp + INTERVAL 10 YEAR",
    ),
)

hits = View(
    "analytics_hits",
    base_tables=[events],
    metadata={"description": "Page hits with what their payload says: page, referrer, campaign, device, browser."},
    nodes={
        "parsed_hits": Node(
            description="The fields of the payload, as texts.",
            sql=f"""
            SELECT
                timestamp,
                coalesce(session_id, '0') AS session_id,
                version,
                JSONExtractString(payload, 'locale') AS locale,
                JSONExtractString(payload, 'location') AS location,
                JSONExtractString(payload, 'referrer') AS referrer,
                JSONExtractString(payload, 'pathname') AS pathname,
                JSONExtractString(payload, 'href') AS href,
                lower(JSONExtractString(payload, 'user-agent')) AS user_agent
            FROM {events}
            WHERE action = 'page_hit'
        """,
        ),
    },
    select_statement="""
        SELECT
            timestamp,
            session_id,
            version,
            if(location = '', 'unknown', location) AS location,
            domainWithoutWWW(referrer) AS source,
            if(empty(pathname), path(href), pathname) AS pathname,
            decodeURLComponent(extractURLParameter(href, 'utm_source')) AS utm_source,
            decodeURLComponent(extractURLParameter(href, 'utm_medium')) AS utm_medium,
            decodeURLComponent(extractURLParameter(href, 'utm_campaign')) AS utm_campaign,
            multiIf(
                match(user_agent, 'bot|crawler|spider|curl|wget'), 'bot',
                match(user_agent, 'android'), 'mobile-android',
                match(user_agent, 'ipad|iphone|ipod'), 'mobile-ios',
                'desktop'
            ) AS device,
            CASE
                WHEN match(user_agent, 'firefox') THEN 'firefox'
                WHEN match(user_agent, 'edg[ae]?/') THEN 'edge'
                WHEN match(user_agent, 'chrome|crios') THEN 'chrome'
                WHEN match(user_agent, 'iphone|ipad|safari') THEN 'safari'
                ELSE 'unknown'
            END AS browser
        FROM parsed_hits
    """,
)
