"""What several endpoints have in common: parts of templates, put in where SQL says `$days` and so on."""

from string import Template
from textwrap import dedent, indent

from app.events import events, hits
from app.rollups import campaigns, hours, pages, sessions, sources
from penstock import Token

DASHBOARD = [Token("dashboard", "READ")]

DAYS = """
{% if defined(date_from) %}
    AND date >= {{ Date(date_from, '2026-03-01', description="The first day, as 2026-03-01") }}
{% else %}
    AND date >= today() - 7
{% end %}
{% if defined(date_to) %}
    AND date <= {{ Date(date_to, '2026-03-08', description="The last day, as 2026-03-08") }}
{% else %}
    AND date <= today()
{% end %}
"""
VISITORS = """
{% if defined(device) %} AND device = {{ String(device, description="Of one kind of device only", enum=['desktop', 'mobile-android', 'mobile-ios', 'bot']) }} {% end %}
{% if defined(browser) %} AND browser = {{ String(browser, description="Of one browser only") }} {% end %}
{% if defined(location) %} AND location IN {{ Array(location, 'String', description="Countries, separated by commas") }} {% end %}
"""
SHOWN = """
LIMIT {{ Int32(limit, 50, description="How many rows") }}
OFFSET {{ Int32(skip, 0, description="How many rows to leave out") }}
"""


def _condition(text: str) -> str:
    """Lines behind a WHERE, the first of which is indented where it is put in."""
    return indent(text.strip(), "    ").strip()


PARTS = {
    "events": events,
    "hits": hits,
    "pages": pages,
    "sources": sources,
    "campaigns": campaigns,
    "hours": hours,
    "sessions": sessions,
    "days": _condition(DAYS),
    "visitors": _condition(VISITORS),
    "shown": SHOWN.strip(),
}


def query(sql: str, **more: str) -> str:
    """SQL with its parts, and with `more` of them. A `$` says which, since braces belong to the template."""
    return Template(dedent(sql)).substitute(PARTS, **more)
