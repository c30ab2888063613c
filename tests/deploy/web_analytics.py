"""The web-analytics example in ClickHouse (chDB): the answers that its endpoints are compared with.

In: the files of the example and its rows. Out: what ClickHouse answers. The SQL is that of the datafiles, rendered;
only where ClickHouse needs another form (a view over a pipe) FROM is rewritten.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chdb.session import Session

from clickhouse_session import open_session
from penstock.model.pipe import Materialized
from penstock.model.project import Project
from penstock.template.rendering import render_call

EXAMPLE = Path(__file__).parents[2] / "src/penstock/examples/web-analytics"
FIRST_DAY = dt.datetime(2026, 3, 1)  # a Sunday; in March New York and Madrid change their clocks
DAYS = 31
AGENTS = (
    "Mozilla/5.0 (X11; Linux x86_64; rv:120.0) Gecko Firefox/120.0",
    "Mozilla/5.0 (iPhone) Safari/604.1",
    "curl/8.1",
    "Mozilla/5.0 (Linux; Android 14) Chrome/119.0 Mobile",
    "Mozilla/5.0 (Windows) Chrome/119.0 Edg/119.0",
    "",
    "Googlebot/2.1",
)
PAGES = ("/", "/pricing", "/signup", "/docs", "/docs/é?x", "/a b", "")
REFERRERS = (
    "https://www.example.com/x",
    "https://news.site.org/y?z=1",
    "",
    "http://t.co/abc",
    "android-app://com.app/",
)
MARKS = (
    "utm_source=news&utm_medium=e%2Dmail&utm_campaign=spring%20sale",
    "utm_source=ads",
    "",
    "utm_campaign=x&utm_source=",
    "q=1",
)
SETTINGS = "SETTINGS session_timezone='UTC', output_format_json_quote_64bit_integers=0"
COUNTRIES = ("ES", "US", "", "DE", "日本")


def rows(count: int, seed: int) -> Iterator[Mapping[str, object]]:
    """Sessions of four actions each. Of some sessions the payloads cannot be read, or lack fields: of all of their
    hits, for a session has one device. Two hits of a session are never in the same second: which came first would be
    chance."""
    chosen = random.Random(seed)
    for number in range(count):
        session, place = divmod(number, 4)
        into = session * 97 * 60 % (DAYS * 86400)
        at = FIRST_DAY + dt.timedelta(seconds=into + place * chosen.choice((7, 31, 403, 2011)) + place)
        text = json.dumps(_payload(session, chosen), ensure_ascii=bool(number % 2))
        yield {
            "timestamp": str(at),
            "session_id": f"s{session}-{seed}",
            "action": "page_hit" if chosen.random() > 0.1 else chosen.choice(("click", "é")),
            "version": str(number % 3),
            "payload": text if session % 20 else chosen.choice(("{", "", "[1]", "null", "{}")),
        }


def _payload(session: int, chosen: random.Random) -> Mapping[str, str]:
    page = chosen.choice(PAGES)
    return {
        "user-agent": AGENTS[session % len(AGENTS)],
        "pathname": page,
        "referrer": chosen.choice(REFERRERS),
        "locale": "en",
        "location": COUNTRIES[session % len(COUNTRIES)],
        "href": f"https://www.example.com{page}?{chosen.choice(MARKS)}",
    }


@dataclass
class Truth:
    """ClickHouse with the example's tables; `insert` fills the rollups as their views would."""

    project: Project
    session: Session = field(default_factory=open_session)

    def __post_init__(self) -> None:
        self.session.query("CREATE DATABASE IF NOT EXISTS w ENGINE = Atomic")
        self.session.query("USE w")
        for source in self.project.datasources:
            columns = ", ".join(f"`{column.name}` {column.type}" for column in source.columns)
            engine = f"{source.engine.name} ORDER BY ({', '.join(source.engine.sorting_key)})"
            self.session.query(f"CREATE TABLE {source.name} ({columns}) ENGINE = {engine}")
        for pipe in self.project.pipes:
            if pipe.materialized is not None and isinstance(pipe.materialized.kind, Materialized):
                sql = self._inlined(render_call(pipe.materialized.sql, {}).text)
                self.session.query(
                    f"CREATE MATERIALIZED VIEW mv_{pipe.name} TO {pipe.materialized.kind.datasource} AS {sql}"
                )

    def _inlined(self, sql: str) -> str:
        """A view of ClickHouse is set off by a table, so a pipe is written out where it is read."""
        for pipe in self.project.pipes:
            if pipe.endpoint is None and pipe.materialized is None:
                text = pipe.nodes[0].sql.text
                for node in pipe.nodes[1:]:
                    text = re.sub(r"FROM " + pipe.nodes[0].name + r"\b", f"FROM ({text})", node.sql.text)
                sql = re.sub(rf"FROM {pipe.name}\b", f"FROM ({text})", sql)
        return sql

    def insert(self, batch: list[Mapping[str, object]]) -> None:
        body = "\n".join(json.dumps(row) for row in batch)
        self.session.query(f"INSERT INTO analytics_events FORMAT JSONEachRow {body}")

    def endpoint(self, name: str, parameters: Mapping[str, str]) -> tuple[list[dict[str, str]], list[list[object]]]:
        """Columns with their types, and rows."""
        pipe = self.project.pipe(name)
        assert pipe is not None
        *before, last = pipe.nodes
        for node in before:
            sql = self._inlined(render_call(node.sql, parameters).text)
            self.session.query(f"CREATE OR REPLACE VIEW {node.name} AS {sql}")
        sql = self._inlined(render_call(last.sql, parameters).text)
        answer = json.loads(self.session.query(f"{sql} {SETTINGS}", "JSONCompact").bytes())
        for node in before:
            self.session.query(f"DROP VIEW {node.name}")
        return answer["meta"], answer["data"]
