"""Objects of Python become the values that the parser of datafiles gives."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock.parse.project_loader import load_files
from penstock.plan.project_check import check_loaded
from python_projects import problems_of, read_project, shown

TYPES = """
class Color(Enum):
    red = "red"
    blue = "it's blue"

class Size(Enum):
    small = 1
    large = 1000

class Point(BaseModel):
    x: float
    y: Optional[UInt8]

class Row(BaseModel):
    id: Key[int]
    a: Int8
    b: Annotated[int, "int32"]
    c: UInt64
    d: Float32
    e: float | None
    f: bool
    g: str
    h: bytes
    i: Annotated[str, FixedString(16)]
    j: UUID
    k: IPv4Address
    l: IPv6Address
    m: date
    n: Date32
    o: datetime
    p: DateTime
    q: clickhouse_datetime64(3)
    r: Annotated[datetime, ClickHousePrecision(9, "Europe/Berlin")]
    s: clickhouse_decimal(18, 4)
    t: Annotated[Decimal, Field(max_digits=38, decimal_places=0)] | None
    u: Annotated[str, "LowCardinality"]
    v: Annotated[Optional[str], "LowCardinality"]
    w: Literal["x", "y"]
    x: list[Optional[UInt16]]
    y: dict[str, list[int]]
    z: tuple[int, str]
    aa: Point
    ab: list[Point]
    ac: Color
    ad: Size
    ae: Annotated[dict, "JSON"]
    af: Annotated[dict, ClickHouseType("JSON(a.b UInt32)")]
    ag: Annotated[float, AggregateFunction("quantiles(0.5, 0.9)", [float | None])]
    ah: Annotated[int, AggregateFunction("count")]
    ai: simple_aggregated("sum", UInt64)

OlapTable[Row]("t", OlapConfig(engine=AggregatingMergeTreeEngine()))
"""
SAME_TYPES = """
SCHEMA >
    id Int64, a Int8, b Int32, c UInt64, d Float32, e Nullable(Float64), f Bool, g String, h String,
    i FixedString(16), j UUID, k IPv4, l IPv6, m Date, n Date32, o DateTime('UTC'), p DateTime,
    q DateTime64(3, 'UTC'), r DateTime64(9, 'Europe/Berlin'), s Decimal(18, 4), t Nullable(Decimal(38, 0)),
    u LowCardinality(String), v LowCardinality(Nullable(String)), w LowCardinality(String),
    x Array(Nullable(UInt16)), y Map(String, Array(Int64)), z Tuple(Int64, String),
    aa Tuple(x Float64, y Nullable(UInt8)), ab Array(Tuple(x Float64, y Nullable(UInt8))),
    ac Enum8('red' = 1, 'it\\'s blue' = 2), ad Enum16('small' = 1, 'large' = 1000), ae JSON, af JSON(a.b UInt32),
    ag AggregateFunction(quantiles(0.5, 0.9), Nullable(Float64)), ah AggregateFunction(count),
    ai SimpleAggregateFunction(sum, UInt64)

ENGINE AggregatingMergeTree
ENGINE_SORTING_KEY id
"""
OPTIONS = """
class Row(BaseModel):
    id: str
    ts: Annotated[DateTime, ClickHouseDefault("now()"), ClickHouseCodec("ZSTD(1)")]
    url: str = Field(alias="pageUrl", description="What was\\nseen: it's {{a, `b`")
    n: Annotated[UInt32, JsonPath("$.a.n"), RenamedFrom("count")] = 7
    name: str = "it's # 1, \\n2"
    deleted: UInt8 = 0
    price: clickhouse_decimal(10, 2) = Decimal("1.50")
    flag: bool = True
    tags: list[str] = ["a"]

table = OlapTable[Row]("t", OlapConfig(
    order_by_expression="id, toDate(ts)", primary_key_expression="id", partition_by="toYYYYMM(ts)",
    engine=ReplacingMergeTreeEngine(ver="ts", is_deleted="deleted"), ttl="ts + INTERVAL 90 DAY",
    settings={"index_granularity": 8192}, metadata={"description": "About it.\\nMore."}, tags=["a", "b"],
    tokens=[Token("page", "APPEND"), Token("all", "READ")], renamed_from="old", forward_query="SELECT *, 1 AS n",
    backfill=False, life_cycle=LifeCycle.DELETION_PROTECTED,
))
View("v", f"SELECT id FROM {table}", base_tables=[table], metadata={"description": "Ids."})
MaterializedView[Row](MaterializedViewOptions(
    select_statement=f"SELECT * FROM {table}", select_tables=[table], materialized_view_name="mv", table_name="t2",
    engine=ReplacingMergeTreeEngine(), order_by_fields=["id"]))

class Parameters(BaseModel):
    id: str
    most: UInt16 = Field(10, description="How many.")
    kind: Literal["a", "b"] = "a"
    names: list[str] = ["x", "y"]

Api[Parameters, Row]("e", sql='''
    -- not {this}
    SELECT * FROM n WHERE id = {id} AND has({names}, name)
    AND name != '{id}' AND {kind} = 'a'
    LIMIT {most}
''', nodes={"n": "SELECT * FROM t"}, tokens=[Token("all", "READ")])
"""
COLUMNS = """
    id String `json:$.id`,
    ts DateTime `json:$.ts` DEFAULT now() CODEC(ZSTD(1)),
    url String `json:$.pageUrl`,
    n UInt32 `json:$.a.n` DEFAULT 7 {},
    name String `json:$.name` DEFAULT 'it\\'s # 1, \\n2',
    deleted UInt8 `json:$.deleted` DEFAULT 0,
    price Decimal(10, 2) `json:$.price` DEFAULT '1.50',
    flag Bool `json:$.flag` DEFAULT true,
    tags Array(String) `json:$.tags` DEFAULT ['a']
"""
SAME_OPTIONS = {
    "t.datasource": """
DESCRIPTION >
    About it.
    More.
TAGS a, b
TOKEN page APPEND
TOKEN all READ
RENAMED_FROM old
SCHEMA >"""
    + COLUMNS.format("RENAMED_FROM count")
    + """
ENGINE ReplacingMergeTree
ENGINE_VER ts
ENGINE_IS_DELETED deleted
ENGINE_SORTING_KEY id, toDate(ts)
ENGINE_PRIMARY_KEY id
ENGINE_PARTITION_KEY toYYYYMM(ts)
ENGINE_TTL ts + INTERVAL 90 DAY
ENGINE_SETTINGS index_granularity = 8192
BACKFILL skip
LIFE_CYCLE deletion_protected
FORWARD_QUERY >
    SELECT *, 1 AS n
""",
    "t2.datasource": "SCHEMA >"
    + COLUMNS.format("RENAMED_FROM count")
    + "ENGINE ReplacingMergeTree\nENGINE_SORTING_KEY id\n",
    "v.pipe": "DESCRIPTION >\n    Ids.\nNODE query\nSQL >\n    SELECT id FROM t\n",
    "mv.pipe": "NODE query\nSQL >\n    SELECT * FROM t\nTYPE materialized\nDATASOURCE t2\n",
    "e.pipe": """
TOKEN all READ
NODE n
SQL >
    SELECT * FROM t
NODE query
SQL >
    %
    -- not {this}
    SELECT * FROM n WHERE id = {{String(id, required=True)}} AND has({{Array(names, 'String', 'x,y')}}, name)
    AND name != '{id}' AND {{String(kind, 'a', enum=['a', 'b'])}} = 'a'
    LIMIT {{UInt16(most, 10, description='How many.')}}
TYPE endpoint
""",
}


def test_every_type_is_that_of_datafiles(tmp_path: Path) -> None:
    read = read_project(tmp_path, TYPES)
    same = load_files({"datasources/t.datasource": SAME_TYPES})
    assert not same.errors
    assert problems_of(read) == []
    assert read.loaded.project == same.project


def test_every_option_is_that_of_datafiles(tmp_path: Path) -> None:
    read = read_project(tmp_path, OPTIONS)
    same = load_files(SAME_OPTIONS)
    assert not same.errors
    assert shown(read) == []
    assert read.loaded.project == same.project


VERSIONS = """
class EventV0(BaseModel):
    id: str
    at: DateTime

class EventV1(EventV0):
    status: str

events = OlapTable[EventV0]("events", OlapConfig(version="0.0", order_by_fields=["id"]))
newer = OlapTable[EventV1]("events", OlapConfig(version="0.1", order_by_fields=["id", "at"]))
migration = MaterializedView[EventV1](
    MaterializedViewOptions(
        materialized_view_name="migration",
        select_statement=f'''
            SELECT events.id, {events.name}.at, 'events' AS status -- FROM events
            FROM {events.name}
            WHERE events.id != 'FROM events'
        ''',
        select_tables=[events],
    ),
    target_table=newer,
)
View("both", f"SELECT id FROM {events} UNION ALL SELECT id FROM `{newer.name}`", base_tables=[newer])
"""
SAME_VERSIONS = {
    "events_0_0.datasource": "SCHEMA >\n    id String, at DateTime\nENGINE MergeTree\nENGINE_SORTING_KEY id\n",
    "events_0_1.datasource": (
        "SCHEMA >\n    id String, at DateTime, status String\nENGINE MergeTree\nENGINE_SORTING_KEY id, at\n"
    ),
    "migration.pipe": """
NODE query
SQL >
    SELECT events_0_0.id, events_0_0.at, 'events' AS status -- FROM events
    FROM events_0_0
    WHERE events_0_0.id != 'FROM events'
TYPE materialized
DATASOURCE events_0_1
""",
    "both.pipe": "NODE query\nSQL >\n    SELECT id FROM events_0_0 UNION ALL SELECT id FROM events_0_1\n",
}


def test_versions_of_a_table_are_tables_of_one_name(tmp_path: Path) -> None:
    read = read_project(tmp_path, VERSIONS)
    same = load_files(SAME_VERSIONS)
    assert not same.errors
    assert shown(read) == []
    assert read.loaded.project == same.project
    assert [each.level for each in check_loaded(read.loaded).problems] == []


def test_a_parameter_that_is_absent_is_null(tmp_path: Path) -> None:
    main = """
class Row(BaseModel):
    id: Key[str]
    n: UInt16

class P(BaseModel):
    id: str | None = Field(None, description="Which.")
    n: Optional[UInt16] = None
    at: date | None = None
    on: bool | None = None

t = OlapTable[Row]("t")
Api[P, Row]("e", sql=f'''
    SELECT id, n, {{at}} AS at, {{on}} AS is_on FROM {t}
    WHERE ({{id}} IS NULL OR id = {{id}}) AND n >= ifNull({{n}}, 0)''')
"""
    read = read_project(tmp_path, main)
    assert shown(read) == []
    text = read.loaded.files["endpoints/e.pipe"]
    call = "{% if defined(id) %}{{String(id, description='Which.')}}{% else %}CAST(NULL AS Nullable(String)){% end %}"
    assert f"WHERE ({call} IS NULL OR id = {call})" in text
    assert "{% if defined(on) %}{{Boolean(on)}}{% else %}CAST(NULL AS Nullable(Bool)){% end %} AS is_on" in text
    assert check_loaded(read.loaded).problems == ()


INGESTION = """
class Row(BaseModel):
    id: Key[str]
    n: UInt16

whole = IngestPipeline[Row]("whole", IngestPipelineConfig(table=OlapConfig(order_by_fields=["n"]), version="1",
    life_cycle=LifeCycle.DELETION_PROTECTED))
passing = IngestPipeline[Row]("passing", IngestPipelineConfig(table=False, life_cycle=LifeCycle.DELETION_PROTECTED))
table = OlapTable[Row]("kept")
queue = DeadLetterQueue[Row]("queue")
stream = Stream[Row]("raw", StreamConfig(destination=table))
IngestApi[Row]("raw", IngestConfig(destination=stream, dead_letter_queue=queue))
MaterializedView[Row](MaterializedViewOptions(materialized_view_name="mv", select_tables=[passing.get_stream()],
    select_statement=f"SELECT * FROM {passing}"), target_table=whole.get_table())
View("rejected", f"SELECT count() AS n FROM {queue} UNION ALL SELECT count() AS n FROM {whole.get_dead_letter_queue()}")
"""
_ROW = "SCHEMA >\n    id String, n UInt16\n"
SAME_INGESTION = {
    "whole_1.datasource": _ROW + "ENGINE MergeTree\nENGINE_SORTING_KEY n\nLIFE_CYCLE deletion_protected\n",
    "passing.datasource": _ROW + "ENGINE Null\nLIFE_CYCLE deletion_protected\n",
    "kept.datasource": _ROW + "ENGINE MergeTree\nENGINE_SORTING_KEY id\n",
    "raw.datasource": _ROW + "ENGINE Null\n",
    "raw_to_kept.pipe": "NODE query\nSQL >\n    SELECT `id`, `n` FROM raw\nTYPE materialized\nDATASOURCE kept\n",
    "mv.pipe": "NODE query\nSQL >\n    SELECT * FROM passing\nTYPE materialized\nDATASOURCE whole_1\n",
    "rejected.pipe": "NODE query\nSQL >\n    SELECT count() AS n FROM raw_quarantine"
    " UNION ALL SELECT count() AS n FROM whole_1_quarantine\n",
}


def test_streams_and_pipelines_are_data_sources_and_views(tmp_path: Path) -> None:
    read = read_project(tmp_path, INGESTION)
    same = load_files(SAME_INGESTION)
    assert not same.errors
    assert shown(read) == []
    assert read.loaded.project == same.project
    assert check_loaded(read.loaded).problems == ()


COPIES = """
class Row(BaseModel):
    id: Key[str]
    n: UInt64

events = OlapTable[Row]("events", OlapConfig(version="1"))
daily = OlapTable[Row]("daily")
CopyPipe("take", f"SELECT id, count() AS n FROM {events.name} GROUP BY id", daily,
    CopyOptions(schedule="0 * * * *", mode="replace", select_tables=[events], tokens=[Token("a", "READ")],
    description="D."))
CopyPipe("by_hand", select_statement=f"SELECT id, n FROM {events}", target_table=daily)
"""
SAME_COPIES = {
    "events_1.datasource": _ROW.replace("UInt16", "UInt64") + "ENGINE MergeTree\nENGINE_SORTING_KEY id\n",
    "daily.datasource": _ROW.replace("UInt16", "UInt64") + "ENGINE MergeTree\nENGINE_SORTING_KEY id\n",
    "take.pipe": "DESCRIPTION >\n    D.\nTOKEN a READ\nNODE query\n"
    "SQL >\n    SELECT id, count() AS n FROM events_1 GROUP BY id\n"
    "TYPE copy\nTARGET_DATASOURCE daily\nCOPY_MODE replace\nCOPY_SCHEDULE 0 * * * *\n",
    "by_hand.pipe": "NODE query\nSQL >\n    SELECT id, n FROM events_1\nTYPE copy\nTARGET_DATASOURCE daily\n",
}


def test_copies_are_those_of_datafiles(tmp_path: Path) -> None:
    read = read_project(tmp_path, COPIES)
    same = load_files(SAME_COPIES)
    assert not same.errors
    assert shown(read) == []
    assert read.loaded.project == same.project
    assert check_loaded(read.loaded).problems == ()


SINKS = """
class Row(BaseModel):
    id: Key[str]
    n: UInt64

events = OlapTable[Row]("events", OlapConfig(version="1"))
files = SinkOptions(
    connection="lake", bucket_uri="file:///exports", file_template="{id}/{8}", format="ndjson", compression="gzip",
    strategy="@truncate", schedule="0 3 * * *", select_tables=[events], tokens=[Token("a", "READ")], description="D.",
)
SinkPipe("daily", f"SELECT id, n FROM {events.name}", files)
SinkPipe("messages", select_statement=f"SELECT n FROM {events}", options=SinkOptions(connection="k", kafka_topic="t"))
"""
CONNECTIONS = {
    "lake.connection": "TYPE file\n",
    "k.connection": "TYPE kafka\nKAFKA_BOOTSTRAP_SERVERS broker:9092\n",
}
SAME_SINKS = {
    **CONNECTIONS,
    "events_1.datasource": _ROW.replace("UInt16", "UInt64") + "ENGINE MergeTree\nENGINE_SORTING_KEY id\n",
    "daily.pipe": "DESCRIPTION >\n    D.\nTOKEN a READ\nNODE query\nSQL >\n    SELECT id, n FROM events_1\n"
    "TYPE sink\nEXPORT_CONNECTION_NAME lake\nEXPORT_BUCKET_URI file:///exports\nEXPORT_FILE_TEMPLATE {id}/{8}\n"
    "EXPORT_FORMAT ndjson\nEXPORT_COMPRESSION gzip\nEXPORT_STRATEGY @truncate\nEXPORT_SCHEDULE 0 3 * * *\n",
    "messages.pipe": "NODE query\nSQL >\n    SELECT n FROM events_1\n"
    "TYPE sink\nEXPORT_CONNECTION_NAME k\nEXPORT_KAFKA_TOPIC t\n",
}


def test_sinks_are_those_of_datafiles(tmp_path: Path) -> None:
    for path, text in CONNECTIONS.items():
        (tmp_path / path).write_text(text)
    read = read_project(tmp_path, SINKS)
    same = load_files(SAME_SINKS)
    assert not same.errors
    assert shown(read) == []
    assert read.loaded.project == same.project
    assert check_loaded(read.loaded).problems == ()


HANDLERS = """
class Row(BaseModel):
    id: Key[UInt64]
    note: str | None = "x"

class Given(BaseModel):
    least: int = Field(default=0, ge=0)
    names: list[str] = []

rows = OlapTable[Row]("rows", OlapConfig(version="2"))
TEXT = '''two
# lines'''

def ask(client, text):
    return client.query.execute(text, {"t": rows})

def answer(client, given: Given):
    return [TEXT, *ask(client, f"SELECT id FROM {rows}")]

Api[Given, list[Row]]("answers", query_function=answer)
"""


def test_a_function_of_an_endpoint_is_text_that_needs_nothing_else(tmp_path: Path) -> None:
    read = read_project(tmp_path, HANDLERS)
    assert shown(read) == []
    assert check_loaded(read.loaded).problems == ()
    pipe = read.loaded.project.pipe("answers")
    assert pipe is not None
    assert pipe.endpoint is not None
    handler = pipe.endpoint.handler
    assert handler is not None
    assert [f"{each.name} {each.type}" for each in handler.returns] == ["id UInt64", "note Nullable(String)"]
    names: dict[str, Any] = {"TableName": str}
    exec(handler.source.text, names)
    client = SimpleNamespace(query=SimpleNamespace(execute=lambda *asked: list(asked)))
    assert names["HANDLER"](client, None) == ["two\n# lines", "SELECT id FROM rows_2", {"t": "rows_2"}]
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        names["PARAMETERS"](least=-1)


@pytest.mark.parametrize(
    ("was", "written", "line", "said"),
    [
        ("(client, given: Given)", "(client)", 26, "called as (client, parameters)"),
        ("list[Row]]", "None]", 26, "rows have no model"),
        ('"answers", ', '"answers", nodes={"a": "SELECT 1"}, ', 26, "nodes are for sql"),
        ("query_function=answer", "answer, sql='SELECT 1'", 26, "needs its query"),
        ("TEXT = ", "TEXT = open(__file__)  # ", 23, "cannot be written as text"),
        ("names: list[str] = []", "names: dict[str, int] = {}", 16, "no endpoint takes"),
        ('note: str | None = "x"', "note: object", 12, "`note`"),
    ],
)
def test_what_no_function_of_an_endpoint_can_be(tmp_path: Path, was: str, written: str, line: int, said: str) -> None:
    main = HANDLERS.replace("'''two\n# lines'''", "'two\\n# lines'").replace(was, written)
    found = read_project(tmp_path, main).loaded.problems
    assert any(said in each.message for each in found), found


def test_a_text_that_a_datafile_would_change_is_no_part_of_a_function(tmp_path: Path) -> None:
    main = "from app.more import spaces\nclass Row(BaseModel):\n    id: str\nApi[None, Row]('b', spaces)\n"
    more = "def spaces(client):\n    return [{'id': '''a\n    \n'''}]\n"
    (found,) = read_project(tmp_path, main, app__more=more).loaded.problems
    assert (found.code, found.message) == (
        "not-self-contained",
        "a text over several lines has a line of spaces only",
    )
