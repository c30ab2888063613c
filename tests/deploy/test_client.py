"""The client against a whole server: every value comes back, no row is lost or doubled, and docs/client.md is true."""

from __future__ import annotations

import asyncio
import contextlib
import io
import ipaddress
import math
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from answer_cutter import AnswerCutter
from deploy.conftest import Running
from penstock.client import AsyncClient, BatchLimits, Client, ClientError, ClientOptions, InsertOptions
from penstock.serve.http.pipeline_host import PipelineHost
from python_projects import HEAD, problems_of, read_project
from unit.serve.web_server import web_server

pytestmark = pytest.mark.spark
PAGE = (Path(__file__).parents[2] / "docs/client.md").read_text(encoding="utf-8")
PROJECT = """
class Colour(Enum):
    RED, BLUE = "red", "blue"

class Level(Enum):
    LOW, HIGH = 1, 200

class Point(BaseModel):
    x: int
    label: Optional[str] = Field(None, alias="l")

class Everything(BaseModel):
    id: Key[int]
    price: clickhouse_decimal(38, 18)
    at: datetime
    fine: clickhouse_datetime64(6, "Europe/Berlin")
    finest: Annotated[str, ClickHouseType("DateTime64(9, 'Europe/Berlin')")]
    day: date
    uuid: UUID
    v4: IPv4Address
    v6: IPv6Address
    raw: bytes
    number: float
    colour: Colour
    level: Level
    point: Point
    points: list[Point]
    by_number: dict[int, str]
    big: UInt64
    text: str = Field(alias="t")
    none: Optional[str]
    document: Annotated[dict[str, Any], "JSON"]

class Number(BaseModel):
    n: Key[int]
    small: UInt8

class Visit(BaseModel):
    id: Key[str]
    at: datetime
    page: str

class Most(BaseModel):
    most: int = 10

class Top(BaseModel):
    page: str
    hits: int

everything = OlapTable[Everything]("everything", OlapConfig(version="0.1"))
numbers = OlapTable[Number]("numbers")
visits = OlapTable[Visit]("visits")
new_visits = OlapTable[Visit]("visits", OlapConfig(version="0.1"))
top_pages = Api[Most, Top](
    "top_pages", sql=f"SELECT page, count() AS hits FROM {new_visits} GROUP BY page ORDER BY page LIMIT {{most}}"
)
"""
WAITING = InsertOptions(wait=True)
SMALL = ClientOptions(batch_limits=BatchLimits(rows=10))


@dataclass(frozen=True)
class Served:
    """A server with the project, and the objects of the project."""

    running: Running
    port: int
    token: str
    objects: dict[str, Any]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self) -> Client:
        return Client(self.url, self.token, options=SMALL)

    def numbers_from(self, first: int, count: int) -> list[int]:
        """The numbers that the table has from one on, once everything is in it."""
        self.running.catch_up()
        sql = f"SELECT n FROM numbers WHERE n >= {first} AND n < {first + count} ORDER BY n"
        return [row[0] for row in self.running.ask(sql)]  # type: ignore[misc]


def run(text: str, names: dict[str, Any]) -> None:
    """Run a module's text; its annotations are read at once, as in a file without `from __future__`."""
    exec(compile(text, "<project>", "exec", dont_inherit=True), names)


@pytest.fixture(scope="module")
def served(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    read = read_project(tmp_path_factory.mktemp("project"), PROJECT)
    assert [(each.code, each.level) for each in problems_of(read)] == [("unchecked-rule", "warning")], "of `label`"
    assert (
        running.deploy({path: text for path, text in read.loaded.files.items() if path != "penstock.toml"}).state
        == "live"
    )
    objects: dict[str, Any] = {}
    run(HEAD + PROJECT, objects)
    host = PipelineHost()
    host.opened(running.pipeline)
    with web_server(host) as (_, port):
        yield Served(running, port, running.pipeline.tokens.create("client", ["admin"]), objects)


@pytest.fixture
def client(served: Served) -> Iterator[Client]:
    with served.client() as made:
        yield made


BERLIN = ZoneInfo("Europe/Berlin")


def everything(objects: dict[str, Any], id: int) -> Any:
    point = objects["Point"]
    return objects["Everything"](
        id=id,
        price=Decimal("-12345678901234567890.123456789012345678"),
        at=datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN),
        fine=datetime(2024, 10, 27, 2, 30, 0, 123456, fold=1, tzinfo=BERLIN),
        finest="2024-10-27 01:30:00.123456789Z",
        day=date(1999, 12, 31),
        uuid=UUID(int=2**127 + 7),
        v4=ipaddress.IPv4Address("1.2.3.4"),
        v6=ipaddress.IPv6Address("2001:db8::1"),
        raw="ä\t".encode(),
        number=math.inf,
        colour=objects["Colour"].BLUE,
        level=objects["Level"].HIGH,
        point=point(x=-1, l="ü"),
        points=[point(x=2**53 + 1), point(x=0, l="")],
        by_number={2**63 - 1: "😀", -1: ""},
        big=2**64 - 1,
        t="Ω 'quoted' \"twice\" \\ \n",
        none=None,
        document={"a": {"b": [1, 2]}, "c": 2**53 + 1},
    )


def test_every_value_comes_back_as_its_model(served: Served, client: Client) -> None:
    rows = [everything(served.objects, id) for id in range(2)]
    assert client.insert(served.objects["everything"], rows, WAITING).successful == 2
    model = served.objects["Everything"]
    sql = "SELECT * FROM everything_0_1 WHERE id IN {ids} ORDER BY id"
    expected = [row.model_copy(update={"at": row.at.astimezone(timezone.utc)}) for row in rows]
    assert client.query(sql, {"ids": (0, 1)}, model=model) == expected
    assert list(client.stream(sql, {"ids": (0, 1)}, model=model)) == expected
    (found,) = client.query(sql, {"ids": (1,)})
    assert (found["uuid"], found["document"]) == (UUID(int=2**127 + 7), {"a": {"b": [1, 2]}, "c": 2**53 + 1})
    assert found["by_number"] == {2**63 - 1: "😀", -1: ""}
    assert found["at"].utcoffset() == timedelta(0)
    assert found["fine"].timestamp() == datetime(2024, 10, 27, 1, 30, 0, 123456, tzinfo=timezone.utc).timestamp()
    assert found["fine"].utcoffset() == timedelta(hours=1)


def test_parameters_are_values_of_their_type(client: Client) -> None:
    text = "'; DROP TABLE x --{{n}}{% if a %} \\ \" 😀\n"
    given = {
        "text": text,
        "whole": 2**63,
        "real": 0.1,
        "day": date(2024, 2, 29),
        "at": datetime(2024, 10, 27, 2, 30, 0, 5, fold=1, tzinfo=BERLIN),
        "price": Decimal("1234567890123456.789"),
        "id": UUID(int=5),
        "yes": True,
        "items": [1, 2],
        "nothing": None,
    }
    columns = ", ".join(f"{{{name}}} AS {name}" for name in given)
    (found,) = client.query(f"SELECT {columns}, '{{text}}' AS quoted -- {{text}}", given)
    assert found.pop("at") == given.pop("at").astimezone(timezone.utc)  # type: ignore[attr-defined]
    assert found == given | {"quoted": "{text}"}
    for sql, parameters, message in (
        ("SELECT {a}", {"b": 1}, "the parameter `a` is not given"),
        ("SELECT 1", {"b": 1}, "does not use the parameter `b`"),
        ("SELECT {{a}}", {"a": 1}, "marks of a template"),
        ("SELECT {a}", {"a": object()}, "a object is no value of a parameter"),
    ):
        with pytest.raises(ClientError, match=re.escape(message)):
            client.query(sql, parameters)
    assert client.query("% SELECT {{Int32(a)}} AS a", {"a": 7}) == [{"a": 7}]


def test_a_lost_answer_never_doubles_a_row(served: Served) -> None:
    """The server has stored the batch when its answer is cut off: NDJSON, Parquet, and with asyncio."""
    cutter = AnswerCutter(served.port)
    rows = [{"n": number, "small": 1} for number in range(1_000, 1_025)]
    table = pa.Table.from_pylist([{"n": number, "small": 1} for number in range(1_025, 1_050)])

    async def insert_awaited() -> int:
        async with AsyncClient(cutter.url, served.token, options=SMALL) as client:
            return (await client.insert("numbers", ({**row, "n": row["n"] + 50} for row in rows))).successful

    with Client(cutter.url, served.token, options=SMALL) as client:
        for insert in (
            lambda: client.insert("numbers", rows).successful,
            lambda: client.insert("numbers", table).successful,
            lambda: asyncio.run(insert_awaited()),
        ):
            cutter.cuts = 2
            assert insert() == 25
            assert cutter.cuts == 0
    cutter.close()
    assert cutter.done == 6
    assert served.numbers_from(1_000, 1_000) == list(range(1_000, 1_075))


def test_rows_that_were_interrupted_are_inserted_again_with_their_key(served: Served, client: Client) -> None:
    rows = [{"n": number, "small": 1} for number in range(2_000, 2_035)]

    def broken() -> Iterator[dict[str, int]]:
        yield from rows[:25]
        raise OSError("gone")

    with pytest.raises(ClientError) as caught:
        client.insert("numbers", broken())
    assert caught.value.result is not None
    assert caught.value.result.successful == 20
    key = caught.value.result.idempotency_key
    assert client.insert("numbers", rows, InsertOptions(idempotency_key=key)).successful == 35
    assert served.numbers_from(2_000, 1_000) == list(range(2_000, 2_035))


def test_rows_that_do_not_fit_are_in_the_quarantine(served: Served, client: Client) -> None:
    rows = [{"n": 3_000, "small": 1}, {"n": 3_001, "small": 256}]
    with pytest.raises(ClientError, match="1 rows do not fit: they are in `numbers_quarantine`"):
        client.insert("numbers", rows)
    result = client.insert(served.objects["numbers"], rows, InsertOptions(strategy="discard"))
    assert (result.successful, result.quarantined) == (1, 1)


def test_threads_and_tasks_at_once(served: Served, client: Client) -> None:
    def insert(thread: int) -> None:
        client.insert("numbers", [{"n": 4_000 + thread * 20 + each, "small": thread} for each in range(20)])

    async def tasks() -> None:
        async with AsyncClient(served.url, served.token, options=SMALL) as client:
            rows = ([{"n": 5_000 + task * 15 + each, "small": 0} for each in range(15)] for task in range(50))
            await asyncio.gather(*(client.insert("numbers", each) for each in rows))

    threads = [threading.Thread(target=insert, args=(each,)) for each in range(8)]
    for thread in threads:
        thread.start()
    asyncio.run(tasks())
    for thread in threads:
        thread.join()
    assert served.numbers_from(4_000, 2_000) == [*range(4_000, 4_160), *range(5_000, 5_750)]


def test_frames_of_spark(served: Served, client: Client) -> None:
    """Partition after partition, with times as moments; and back into the same session."""
    session = served.running.pipeline.core.warehouse.lake.spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "America/New_York")
    frame = session.range(6_000, 6_050, 1, 3).selectExpr("id AS n", "CAST(1 AS INT) AS small")
    assert client.insert(served.objects["numbers"], frame).successful == 50
    assert served.numbers_from(6_000, 1_000) == list(range(6_000, 6_050))
    at = session.sql("SELECT 's' AS id, TIMESTAMP '2024-11-03 01:30:00.5 -05:00' AS at, '/' AS page")
    client.insert("visits", at, WAITING)
    sql = "SELECT toUInt64(1) AS u, toDateTime64('2024-01-01 00:00:00.5', 3, 'UTC') AS t, [toUInt8(2)] AS l"
    back = client.query_spark(sql, session)
    assert back.selectExpr("u + 1", "unix_micros(t)", "l[0]").collect() == [(2, 1704067200500000, 2)]
    (row,) = client.query("SELECT at FROM visits WHERE id = 's'")
    assert row["at"] == datetime(2024, 11, 3, 6, 30, tzinfo=timezone.utc)


def test_endpoints_of_objects_and_frames_of_pandas(served: Served, client: Client) -> None:
    now = datetime(2024, 1, 1, tzinfo=timezone.utc)
    client.insert(served.objects["new_visits"], [{"id": "e", "at": now, "page": "/endpoint"}], WAITING)
    top = client.endpoint(served.objects["top_pages"], served.objects["Most"](most=100), model=served.objects["Top"])
    assert served.objects["Top"](page="/endpoint", hits=1) in top
    frame = client.query_pandas(
        "SELECT n, if(n = 7, NULL, toInt64(n)) AS m FROM (SELECT arrayJoin([7, 9007199254740993]) AS n)"
    )
    assert list(frame["m"]) == [None, 2**53 + 1]
    assert client.insert("visits", frame.assign(id="p", at="2024-01-01", page="/")).successful == 2


def test_the_examples_of_the_page(served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PENSTOCK_URL", served.url)
    monkeypatch.setenv("PENSTOCK_TOKEN", served.token)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert len(blocks) == 5
    printed, names = io.StringIO(), dict[str, Any]()
    with contextlib.redirect_stdout(printed):
        run("\n".join(blocks), names)
    assert "invalid-query did you mean `visits`?" in printed.getvalue()
    assert "/a 2" in printed.getvalue()
    assert names["table"].num_rows == len(names["frame"])
