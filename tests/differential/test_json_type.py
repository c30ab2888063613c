"""JSON columns on both engines: what a document shows, its paths, types, casts and comparisons.

Each document is its own insert: in ClickHouse the type of a value can depend on those that came before it in a block.
"""

from __future__ import annotations

import json
import re

import orjson
import pytest
from pyspark.sql import SparkSession
from tests.differential.compare import by_text, without_hint
from tests.differential.engines import ClickHouse, same

from penstock.deploy.queries.answers.json_values import json_converter
from penstock.errors import InvalidQuery, Location
from penstock.lake.spark.session import register_functions
from penstock.model import types as t
from penstock.model.datasource import Column, DataSource, Text
from penstock.model.engine import Engine
from penstock.model.json_documents.documents import store_text
from penstock.model.json_documents.path_rules import rules_of
from penstock.model.project import Project
from penstock.parse.column_types import parse_type
from penstock.sql.compile import compile_sql

pytestmark = pytest.mark.spark

DOCUMENTS = (
    '{"a":{"b":1,"c":"x"},"n":1,"f":1.0,"s":"text","t":"2020-01-02T10:00:00Z","d":"2020-01-02","l":[1,2],"k":true}',
    '{"a":{"b":2.5},"n":-7,"f":0.1,"s":"12","t":"2020-01-02 10:00:00.25","w":["p","q\'s"],"k":false}',
    '{"a":{"b":"7"},"n":18446744073709551615,"f":1e21,"s":"é\\"/","l":[],"w":[{"x":1},{"x":"2"}]}',
    '{"a.b":3,"n":null,"o":{},"m":[1,"x",null],"big":123456789012345678901234567890,"a b":{"c":1}}',
    "{}",
)
ANSWERED = """
SELECT id, j FROM docs ORDER BY id;
SELECT id, j.a.b, j.n, j.f, j.s, j.t, j.d, j.l, j.k, j.w, j.m, j.big FROM docs ORDER BY id;
SELECT id, j.^a, j.^o, j.^zz FROM docs ORDER BY id;
SELECT id, j.a.b.:Int64, j.a.b.:Float64, j.a.b.:String, j.n.:UInt64 FROM docs ORDER BY id;
SELECT id, j.k.:Bool, j.d.:Date, j.t.:DateTime FROM docs ORDER BY id;
SELECT id, j.t.:`DateTime64(9)`, j.l.:`Array(Nullable(Int64))`, j.w.:`Array(Nullable(String))` FROM docs ORDER BY id;
SELECT id, dynamicType(j.a.b), dynamicType(j.n), dynamicType(j.t), dynamicType(j.w) FROM docs ORDER BY id;
SELECT id, dynamicElement(j.n, 'Int64'), JSONAllPaths(j), JSONAllPathsWithTypes(j) FROM docs ORDER BY id;
SELECT id, toString(j), j::String, toJSONString(j) FROM docs ORDER BY id;
SELECT id, toString(j.n), j.f::String, j.t::String, j.d::String, j.k::String, j.zz::String FROM docs ORDER BY id;
SELECT id, j.l::String, j.k::UInt8, j.f::Float64, j.a.b::Float64, j.a.b::Nullable(Float64) FROM docs ORDER BY id;
SELECT id, toInt64(j.f), j.n::Int64 FROM docs WHERE id = 1;
SELECT id, toFloat64(j.a.b), toInt64(j.a.b) FROM docs ORDER BY id;
SELECT id, j.l::Array(String), j.l::Array(Int64) FROM docs WHERE id <> 3 ORDER BY id;
SELECT id, toDate(j.d), toDateTime(j.t), toDate(j.t) FROM docs WHERE id < 3 ORDER BY id;
SELECT id, j.n = 1, j.n > 0, j.n < 1.5, j.n <> -7 FROM docs ORDER BY id;
SELECT id FROM docs WHERE j.s = 'text' ORDER BY id;
SELECT id FROM docs WHERE j.d >= '2020-01-01' ORDER BY id;
SELECT id FROM docs WHERE j.d = toDate('2020-01-02') ORDER BY id;
SELECT id FROM docs WHERE j.k = true ORDER BY id;
SELECT id, j.n IS NULL, isNull(j.n), j.n IS NOT NULL, isNotNull(j.zz) FROM docs ORDER BY id;
SELECT count(j.n.:Int64), count(), sum(j.n.:Int64), uniqExact(j.s.:String), avg(toFloat64(j.a.b)) FROM docs;
SELECT j.k.:Bool AS k, count() FROM docs GROUP BY k ORDER BY k;
SELECT j.a.b::String AS b, count() FROM docs GROUP BY b ORDER BY b;
SELECT j, count() FROM docs GROUP BY j;
SELECT count() FROM (SELECT DISTINCT j FROM docs);
SELECT x.a.b::String AS b FROM (SELECT j AS x FROM docs WHERE id = 1);
SELECT v, toString(v) FROM (SELECT j.s AS v FROM docs);
SELECT id, s::JSON, CAST(s, 'JSON'), CAST(s AS Nullable(JSON)) FROM docs WHERE id = 2;
SELECT s::JSON FROM docs WHERE id = 3;
SELECT s::JSON AS j, j.a.b::String AS b FROM docs WHERE id = 4;
SELECT '{"b":1,"a":"2020-01-01T00:00:00Z","c":null}'::JSON AS j;
SELECT id, JSONExtractString(j, 's'), JSONExtractInt(j, 'n'), JSONHas(j, 'a') FROM docs ORDER BY id;
SELECT id, if(id = 1, j.n, j.s) FROM docs ORDER BY id;
SELECT id, lower(j.s), upper(j.s), lowerUTF8(j.s), upperUTF8(j.s) FROM docs ORDER BY id;
SELECT id, length(j.s), lengthUTF8(j.s), empty(j.s), notEmpty(j.s) FROM docs ORDER BY id;
SELECT id, substring(j.s, 2, 2), substringUTF8(j.s, 1, 1) FROM docs ORDER BY id;
SELECT id, startsWith(j.s, 't'), endsWith(j.s, 't'), match(j.s, '^[a-z]') FROM docs ORDER BY id;
SELECT id, extract(j.s, '[0-9]'), replaceAll(j.s, 't', 'T') FROM docs ORDER BY id;
SELECT id, replaceOne(j.s, 't', 'T'), replaceRegexpAll(j.s, '[a-z]', '.') FROM docs ORDER BY id;
SELECT id, replaceRegexpOne(j.s, '[a-z]', '.') FROM docs ORDER BY id;
SELECT id, position(j.s, 'x'), positionCaseInsensitive(j.s, 'X'), positionUTF8(j.s, '/') FROM docs ORDER BY id;
SELECT id, countSubstrings(j.s, 't'), hasToken(j.s, 'text') FROM docs ORDER BY id;
SELECT id, domain(j.s), domainWithoutWWW(j.s), topLevelDomain(j.s) FROM docs ORDER BY id;
SELECT id, protocol(j.s), path(j.s), queryString(j.s), fragment(j.s) FROM docs ORDER BY id;
SELECT id, extractURLParameter(j.s, 'q'), cutQueryString(j.s), cutURLParameter(j.s, 'q') FROM docs ORDER BY id;
SELECT id, decodeURLComponent(j.s), isValidUTF8(j.s), base64Encode(j.s) FROM docs ORDER BY id;
SELECT id, length(j.l), empty(j.l), notEmpty(j.l), length(j.m), length(j.w) FROM docs ORDER BY id;
SELECT id, j.s LIKE '%t%', j.s NOT LIKE '1%', j.s ILIKE 'T%' FROM docs ORDER BY id;
SELECT id, like(j.s, 't_xt'), startsWith(j.s, j.s) FROM docs ORDER BY id;
SELECT id, multiSearchAny(j.s::String, ['x']), multiSearchAny(j.s.:String, ['x']) FROM docs ORDER BY id;
SELECT id, lower(j.zz), length(j.zz), j.zz LIKE 'a' FROM docs ORDER BY id;
SELECT lower(j.s) AS k, count() FROM docs WHERE j.s LIKE '%' GROUP BY k ORDER BY k;
SELECT id, coalesce(j.s.:String, 'none'), ifNull(j.n.:Int64, 0) FROM docs ORDER BY id;
SELECT id, j.n.:Int64 AS n FROM docs ORDER BY n DESC, id;
SELECT id, j.`a b`.c, j.`a.b`, docs.j.a.b FROM docs ORDER BY id;
SELECT p.id FROM docs AS p JOIN docs AS q ON p.j.n.:Int64 = q.j.n.:Int64 ORDER BY p.id;
SELECT id, j = j, j <> '{}'::JSON FROM docs ORDER BY id;
SELECT id, j = s::JSON FROM docs WHERE id = 2;
SELECT any(j) FROM docs WHERE id = 2;
SELECT arrayJoin(j.l::Array(Int64)) AS e FROM docs WHERE id = 1 ORDER BY e;
SELECT id, arrayMap(x -> x + 1, j.l.:`Array(Nullable(Int64))`) FROM docs WHERE id < 3 ORDER BY id
"""
TYPED = (
    "JSON(a.b Float64, f String, t Nullable(DateTime64(3)), d Date, l Array(Nullable(String)), "
    "SKIP w, SKIP REGEXP '^big')"
)
TYPED_PATHS = """
SELECT id, k FROM docs ORDER BY id;
SELECT id, k.a.b, k.f, k.t, k.d, k.l, k.n, k.w, k.big FROM docs ORDER BY id;
SELECT id, k.^a, k.^o, toString(k), JSONAllPaths(k), JSONAllPathsWithTypes(k) FROM docs ORDER BY id;
SELECT id, k.a.b + 1, upper(k.f), toYear(k.d), k.l[1], length(k.l), k.a.b.c FROM docs ORDER BY id;
SELECT k.d AS d, count(), sum(k.a.b), max(k.t) FROM docs GROUP BY d ORDER BY d;
SELECT id FROM docs WHERE k.a.b > 1 AND k.f <> '' ORDER BY k.a.b DESC;
SELECT id, arrayMap(x -> concat(x, '!'), k.l) FROM docs ORDER BY id;
SELECT id, CAST(k, 'JSON(n String, SKIP a)') AS c, k::JSON, j::JSON(n String) FROM docs WHERE id = 1;
SELECT s::JSON(a.b Nullable(Int64), u UInt8, k Bool, z UUID, SKIP l) AS c FROM docs WHERE id = 2;
SELECT k, count() FROM docs GROUP BY k
"""
ARRAYS = """
SELECT id, j.w[], j.l[], j.zz[], length(j.w[]) FROM docs ORDER BY id;
SELECT id, j.w[].x, j.w[].x.:Int64, j.w[].zz, j.l[].x, j.w[].x::Array(String) AS c FROM docs ORDER BY id;
SELECT id, arrayJoin(j.w[]) AS e, e.x::String AS x FROM docs ORDER BY id, x;
SELECT id, arrayMap(x -> x::Int64, j.w[].x) AS c, arrayExists(x -> x = 1, j.w[].x.:Int64) FROM docs ORDER BY id
"""
BY_TYPE = """
SELECT id, j.f + j.n, j.n - 1, -j.n, j.k + 1, -j.k, j.t + 1, j.d - toDate('2020-01-01') FROM docs ORDER BY id;
SELECT id, j.n * 1.5, j.n % 2, j.n DIV 2, j.n / 2 FROM docs WHERE id <> 3 ORDER BY id;
SELECT id, dynamicType(j.n + 1), dynamicType(j.k + 1), dynamicType(abs(j.n)), dynamicType(-j.k) FROM docs ORDER BY id;
SELECT id, j.n = j.f, j.s = j.s, j.n <> j.f, j.t > j.d FROM docs WHERE id <> 3 ORDER BY id;
SELECT id, coalesce(j.n, 0) + 1, coalesce(j.n, j.s, 'x'), ifNull(j.s, 'none'), coalesce(j.n, id) FROM docs ORDER BY id;
SELECT id, dynamicType(coalesce(j.n, 0)), coalesce(j.zz, true), coalesce(j.zz, 1.5), coalesce(NULL, j.n)
FROM docs ORDER BY id;
SELECT id, v, v::String, v = 0, toFloat64(v) FROM (SELECT id, coalesce(j.n, 0) AS v FROM docs) ORDER BY id;
SELECT id, if(id = 1, j.n, 0), multiIf(id = 1, 1, id = 2, 'x', j.n), CASE WHEN id = 1 THEN j.s ELSE 'no' END
FROM docs ORDER BY id;
SELECT v::String FROM (SELECT j.n AS v FROM docs UNION ALL SELECT coalesce(j.n, 7) AS v FROM docs);
SELECT id, NOT j.k, assumeNotNull(j.n), j['a']['b'] FROM docs ORDER BY id;
SELECT id, concat(j.s, '-', j.n, '-', j.d), 'n=' || j.n, format('{}-{}', j.s, j.l) FROM docs ORDER BY id;
SELECT id, trim(j.s), trimLeft(j.s), reverse(j.s), left(j.s, 2), leftPad(j.s, 5, '0'), encodeURLComponent(j.s)
FROM docs WHERE id <> 3 ORDER BY id;
SELECT id, abs(j.f), round(j.f, 1), floor(j.f), sqrt(j.f), pow(j.n, 2) FROM docs WHERE id < 3 ORDER BY id;
SELECT id, toYear(j.t), toYYYYMM(j.t), toStartOfHour(j.t), toMonday(j.t), formatDateTime(j.t, '%Y')
FROM docs WHERE id < 3 ORDER BY id;
SELECT id, addDays(j.d, 1), j.t - INTERVAL 1 DAY, dateDiff('day', j.d, toDate('2020-01-05'))
FROM docs WHERE id < 3 ORDER BY id;
SELECT id % 2 AS g, argMax(j.n, id), uniq(j.n), uniqExact(j.n), count(j.n) FROM docs GROUP BY g ORDER BY g;
SELECT id, any(j.n), anyLast(j.n) FROM docs GROUP BY id ORDER BY id;
SELECT count(DISTINCT j.s), argMaxIf(j.n, id, id < 3), countIf(j.n, id > 1), argMin(j.n, id) + count() FROM docs;
SELECT any(j.n), argMax(j.n, id), count(j.n), uniq(j.n) FROM docs WHERE id > 100;
SELECT id, arrayMap(x -> arrayMap(y -> x * y + j.n::Int64, [1, 2]), [3, 4]) FROM docs WHERE id < 3 ORDER BY id;
SELECT id, arrayMap((x, y) -> concat(x, y, j.s::String), ['a'], ['b']), arrayExists(x -> x = j.n, [1, 5])
FROM docs ORDER BY id;
SELECT id, concat(j.n, (SELECT 'x')) AS c FROM docs WHERE id < 3 ORDER BY id;
SELECT DISTINCT j.s FROM docs;
SELECT count() FROM (SELECT DISTINCT j.n, j.k FROM docs);
SELECT id, j.zz FROM docs ORDER BY id LIMIT 2 BY j.zz;
SELECT id, coalesce(k.n, 0), k.n + 1 FROM docs ORDER BY id
"""
REFUSED_BY_BOTH = """
SELECT nullIf(j.n, 1) FROM docs;
SELECT toNullable(j.n) FROM docs;
SELECT toLowCardinality(j.s) FROM docs;
SELECT countIf(j.k) FROM docs;
SELECT JSON_VALUE(j, '$.s') FROM docs;
SELECT p.id FROM docs AS p JOIN docs AS q ON p.j.n = q.j.n;
SELECT p.id FROM docs AS p JOIN docs AS q ON p.j.s = q.s;
SELECT id, row_number() OVER (PARTITION BY j.s ORDER BY id) FROM docs;
SELECT j.n, count() FROM docs GROUP BY j.n;
SELECT id FROM docs ORDER BY j.n;
SELECT sum(j.n) FROM docs;
SELECT max(j.n) FROM docs;
SELECT id FROM docs WHERE j.k;
SELECT id FROM docs WHERE j.n IN (1, 2);
SELECT id FROM docs WHERE j IN ('{}')
"""
FAILING_ON_BOTH = """
SELECT j.s + 1 FROM docs;
SELECT parseDateTimeBestEffort(j.t) FROM docs;
SELECT id FROM docs WHERE j.s = 1;
SELECT j.s::Int64 FROM docs;
SELECT s::JSON FROM (SELECT 'no document' AS s FROM docs);
SELECT s::JSON FROM (SELECT '{"a":1,"a":2}' AS s FROM docs);
SELECT s::JSON FROM (SELECT '[1]' AS s FROM docs);
SELECT lower(j.n) FROM docs WHERE id = 1;
SELECT lower(j.d) FROM docs WHERE id = 1;
SELECT length(j.n) FROM docs WHERE id = 1;
SELECT j.l LIKE 'x' FROM docs WHERE id = 1;
SELECT replaceAll(j.k, 'a', 'b') FROM docs WHERE id = 1;
SELECT s::JSON(a UInt8) FROM (SELECT '{"a":"x"}' AS s FROM docs)
"""


def queries(text: str) -> list[str]:
    return [each.strip() for each in text.split(";\n")]


def without_limits(of: str) -> str:
    """The limits of ClickHouse's storage, which have no meaning here."""
    return without_hint(re.sub(r"\((?:max_types|max_dynamic_types)=\d+(?:, max_dynamic_paths=\d+)?\)", "", of))


SCHEMA = (("id", "UInt32"), ("s", "String"), ("j", "JSON"), ("k", TYPED))


@pytest.fixture(scope="module")
def project() -> Project:
    columns = tuple(Column(name, parse_type(of), location=Location("docs.datasource")) for name, of in SCHEMA)
    return Project.of([DataSource("docs", columns, Engine())], [])


@pytest.fixture(scope="module")
def theirs(clickhouse: ClickHouse) -> ClickHouse:
    columns = ", ".join(f"{name} {of}" for name, of in SCHEMA)
    clickhouse.session.query(f"CREATE TABLE d.docs ({columns}) ENGINE = Memory")
    for place, text in enumerate(DOCUMENTS, 1):
        literal = text.replace("\\", "\\\\").replace("'", "\\'")
        clickhouse.session.query(f"INSERT INTO d.docs SELECT {place}, '{literal}', '{literal}', '{literal}'")
    return clickhouse


@pytest.fixture(scope="module")
def ours(spark_session: SparkSession) -> SparkSession:
    session = spark_session.newSession()
    session.conf.set("spark.sql.codegen.wholeStage", "false")
    session.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    register_functions(session)
    of = parse_type(TYPED)
    assert isinstance(of, t.Json)
    rules = rules_of(of.rules())
    rows = [(place, text, store_text(text), store_text(text, rules)) for place, text in enumerate(DOCUMENTS, 1)]
    frame = session.createDataFrame(rows, "id BIGINT, s STRING, j STRING, k STRING")
    frame.coalesce(1).createOrReplaceTempView("__all_docs__")
    return session


@pytest.mark.parametrize("sql", [*queries(ANSWERED), *queries(TYPED_PATHS), *queries(ARRAYS), *queries(BY_TYPE)])
def test_the_same_answer(sql: str, project: Project, theirs: ClickHouse, ours: SparkSession) -> None:
    query = compile_sql(project, Text(sql, Location("q.sql")), "clickhouse")
    names, types, expected = theirs.rows(sql)
    converters = [json_converter(of) for _, of in query.columns]
    found = [
        tuple(json.loads(orjson.dumps(show(value))) for show, value in zip(converters, row, strict=True))
        for row in ours.sql(query.sql).collect()
    ]
    if "ORDER BY" not in sql:
        found, expected = by_text(found), by_text(expected)
    assert same(found, expected), f"ours {found}\ntheirs {expected}\n{query.sql}"
    assert [without_hint(str(of)) for _, of in query.columns] == list(map(without_limits, types))
    assert [name for name, _ in query.columns] == names


@pytest.mark.parametrize("sql", queries(REFUSED_BY_BOTH))
def test_refused_by_both(sql: str, project: Project, theirs: ClickHouse) -> None:
    with pytest.raises(RuntimeError):
        theirs.rows(sql)
    with pytest.raises(InvalidQuery):
        compile_sql(project, Text(sql, Location("q.sql")), "clickhouse")


@pytest.mark.parametrize("sql", queries(FAILING_ON_BOTH))
def test_fails_on_both(sql: str, project: Project, theirs: ClickHouse, ours: SparkSession) -> None:
    with pytest.raises(RuntimeError):
        theirs.rows(sql)
    query = compile_sql(project, Text(sql, Location("q.sql")), "clickhouse")
    with pytest.raises(Exception, match="cannot"):
        ours.sql(query.sql).collect()
