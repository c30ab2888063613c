"""WITH TOTALS on ClickHouse (chDB) and on Spark: the same rows, in the same order, and the same row of totals.

ClickHouse writes its JSON in the wrong order if there are no rows, so the totals are read from the text.
"""

from __future__ import annotations

import json
import re

import pytest
from tests.differential.compare import by_text, statements, without_hint
from tests.differential.engines import ClickHouse, Rows, Spark, same, shown

pytestmark = pytest.mark.spark

QUERIES = statements("""
SELECT lc, count(), sum(u8) FROM t GROUP BY lc WITH TOTALS ORDER BY lc;
SELECT lc, count(), max(u8), avg(u8), min(ns), sum(ni), quantile(u8), uniq(u8), avgOrNull(u8)
    FROM none GROUP BY lc WITH TOTALS;
SELECT i32 + 1, toString(i32), count() FROM t GROUP BY i32 WITH TOTALS ORDER BY i32;
SELECT i32 + 1 AS k, k * 2, k + 1 AS l, sum(u8) / count() AS r FROM t GROUP BY k WITH TOTALS ORDER BY k;
SELECT i32, toString(i32) AS k, upper(k), i32 + 1 AS n, count() FROM t GROUP BY i32, k, n WITH TOTALS ORDER BY k;
SELECT ni, nf, ns, nt, count() FROM t GROUP BY ni, nf, ns, nt WITH TOTALS ORDER BY ni, nf;
SELECT d, t, t3, b, dec, arr, sarr, f, f32, u64, count() FROM t GROUP BY d, t, t3, b, dec, arr, sarr, f, f32, u64
    WITH TOTALS ORDER BY d LIMIT 1;
SELECT (u8, lc, ni) AS k, toFixedString(toString(b), 5) AS x, toDateTime(t, 'Asia/Tokyo') AS z, count() FROM t
    GROUP BY k, x, z WITH TOTALS ORDER BY x, z LIMIT 2;
SELECT lc, count() AS c, sum(u8) FROM t GROUP BY lc WITH TOTALS HAVING max(id) > 4 ORDER BY lc LIMIT 1;
SELECT lc, count() AS c, uniqExact(u8) FROM t GROUP BY lc WITH TOTALS HAVING lc != 'a' ORDER BY lc LIMIT 1 OFFSET 1;
SELECT lc, count() AS c, min(u8), max(s), avg(u8) FROM t GROUP BY lc WITH TOTALS HAVING c > 100;
SELECT ni, nf, count() AS c FROM t GROUP BY ni, nf WITH TOTALS HAVING isNull(nf) OR ni > 0 ORDER BY ni, nf;
SELECT f, count() AS c, sum(id) FROM t GROUP BY f WITH TOTALS HAVING f > 0 ORDER BY f;
SELECT a.lc, x, count() AS c FROM t AS a ARRAY JOIN arr AS x GROUP BY a.lc, x WITH TOTALS HAVING c > 1 ORDER BY 1, 2;
SELECT a.lc, sum(b.u8) AS n FROM t AS a JOIN t AS b ON a.lc = b.lc WHERE b.id > 1 GROUP BY a.lc WITH TOTALS
    HAVING n > 5 ORDER BY n DESC;
SELECT lc, b, count() AS c FROM t GROUP BY lc, b WITH TOTALS ORDER BY lc, b LIMIT 1 BY lc;
SELECT DISTINCT b, count() AS c FROM t GROUP BY lc, b WITH TOTALS ORDER BY b, c;
SELECT lc, b, count(), sum(u8) FROM t GROUP BY lc, b WITH ROLLUP WITH TOTALS ORDER BY lc, b, 3, 4;
SELECT lc, b, count(), sum(u8) FROM t GROUP BY CUBE(lc, b) WITH TOTALS ORDER BY lc, b, 3, 4;
SELECT lc, 'x' AS c, 2 AS n, count() FROM t GROUP BY ALL WITH TOTALS ORDER BY lc;
SELECT count(), sum(u8) FROM t GROUP BY () WITH TOTALS;
SELECT 1 AS x, lc, count() FROM t GROUP BY x, lc WITH TOTALS ORDER BY lc;
SELECT lc FROM t GROUP BY lc WITH TOTALS ORDER BY lc DESC;
SELECT u8, count() AS c FROM t GROUP BY u8 WITH TOTALS ORDER BY u8 WITH FILL FROM 0 TO 4 INTERPOLATE (c AS c + 100);
SELECT u8, count() AS c FROM t GROUP BY u8 WITH TOTALS ORDER BY c DESC LIMIT 1 WITH TIES;
SELECT if(lc = '', 'other', lc) AS x, lc = '' AS e, count() FROM t GROUP BY lc WITH TOTALS ORDER BY x;
SELECT lc, (SELECT max(id) FROM t) AS m, count() + m FROM t GROUP BY lc WITH TOTALS ORDER BY lc LIMIT 1;
SELECT lc, sumIf(u8, id > 2), countIf(b), quantiles(0.5)(u8), stddevPop(u8), sumMap([u8], [1]), countDistinct(u8),
    groupArraySorted(3)(id), corr(u8, id), groupBitXor(u8), entropy(u8) FROM t GROUP BY lc WITH TOTALS ORDER BY lc;
SELECT arr, (u8, ns) AS k, count() AS c FROM t GROUP BY arr, k WITH TOTALS HAVING c > 0 AND length(arr) > 1
    ORDER BY arr;
SELECT lc, count() AS c, sum(r.u8) FROM t LEFT JOIN (SELECT lc, u8, id FROM t WHERE id > 3) AS r USING (lc)
    GROUP BY lc WITH TOTALS HAVING c > 1 ORDER BY lc;
SELECT if(id = 1, nan, f) AS k, arrayMap(x -> x + 1, arr) AS m, count() AS c FROM t GROUP BY k, m WITH TOTALS
    HAVING isNaN(k) OR k > 1 ORDER BY c, m;
SELECT -u8 AS u8, sum(t.u8) AS s FROM t GROUP BY u8 WITH TOTALS ORDER BY s, u8;
SELECT lc, s AS x, max(x) FROM t GROUP BY lc, s WITH TOTALS ORDER BY lc, s;
WITH count() AS n SELECT lc, n * 2 AS m FROM t GROUP BY lc WITH TOTALS HAVING n > 1 ORDER BY lc DESC;
SELECT ni + 1 AS k, sum(nf), max(ni), count(ni) FROM t GROUP BY ni + 1 WITH TOTALS HAVING k IS NULL OR k > 0 ORDER BY k;
SELECT CAST(if(b, 'x', 'y'), 'Enum8(\\'x\\' = 1, \\'y\\' = -2)') AS e, toString(e), e = 'y', toInt8(e), count() FROM t
    GROUP BY e WITH TOTALS ORDER BY e;
SELECT CAST(if(b, 'x', 'y'), 'Enum8(\\'x\\' = 1, \\'y\\' = 0)') AS e, toDate32(d) AS w, [e] AS l, (e, w) AS p,
    count() FROM t GROUP BY e, w, l, p WITH TOTALS ORDER BY e, w;
SELECT CAST(nullIf(lc, 'a'), 'Nullable(Enum8(\\'\\' = 1, \\'b\\' = 2, \\'c\\' = 3))') AS e, count() FROM t
    WHERE lc IN ('a', 'b', 'c') GROUP BY e WITH ROLLUP WITH TOTALS ORDER BY e, 2;
SELECT * FROM (SELECT lc, count() AS c FROM t GROUP BY lc WITH TOTALS) ORDER BY lc LIMIT 2;
WITH x AS (SELECT lc, count() AS c FROM t GROUP BY lc WITH TOTALS) SELECT DISTINCT c + 1, upper(lc) FROM x ORDER BY 2;
SELECT lc, sum(c) FROM (SELECT lc, count() AS c FROM t GROUP BY lc WITH TOTALS) GROUP BY lc ORDER BY lc;
SELECT lc, sum(c) FROM (SELECT lc, count() AS c FROM t GROUP BY lc WITH TOTALS) GROUP BY lc WITH TOTALS ORDER BY lc;
SELECT id FROM t WHERE lc IN (SELECT lc FROM t WHERE lc = 'a' GROUP BY lc WITH TOTALS) ORDER BY id;
SELECT count() FROM t WHERE '' IN (SELECT lc FROM (SELECT lc, count() AS c FROM t GROUP BY lc WITH TOTALS));
""")


@pytest.mark.parametrize("sql", QUERIES, ids=[sql[:70] for sql in QUERIES])
def test_same_totals(sql: str, clickhouse: ClickHouse, spark: Spark) -> None:
    query = spark.compile(sql)
    found = spark.session.sql(query.with_totals or query.sql).collect()
    ours: Rows = [tuple(shown(each, of) for each, (_, of) in zip(row, query.columns, strict=False)) for row in found]
    if query.with_totals:
        assert [row[-1] is None for row in found] == [False] * (len(found) - 1) + [True]
        assert same(ours.pop(), _totals(clickhouse, sql))
    else:
        assert _totals(clickhouse, sql) is None
    theirs: Rows = []
    if ours:
        names, types, theirs = clickhouse.rows(sql)
        assert [without_hint(str(of)) for _, of in query.columns] == list(map(without_hint, types))
        assert [name for name, _ in query.columns] == names
    if "ORDER BY" not in sql:
        ours, theirs = by_text(ours), by_text(theirs)
    assert len(ours) == len(theirs)
    assert all(map(same, ours, theirs))


def _totals(clickhouse: ClickHouse, sql: str) -> tuple[object, ...] | None:
    clickhouse.session.query("USE d")
    settings = "SETTINGS output_format_json_quote_denormals=1, session_timezone='UTC'"
    answer = clickhouse.session.query(f"{sql} {settings}", "JSONCompact").bytes().decode()
    found = re.search(r'"totals": ', answer)
    return tuple(json.JSONDecoder().raw_decode(answer, found.end())[0]) if found else None
