-- What ClickHouse calls a column without an alias, and forms of literals and operators that give it such a name.
SELECT tuple(1), tuple(1, 2), tuple(id, u8), (id + 1, lower(s)), (id, [1, u8]), ((id, 1), 2) FROM t ORDER BY id LIMIT 1;
SELECT array(id, 1), array(), arrayMap(x -> tuple(x, 1), [1]), uniqExact((id, lower(s))), groupArray(tuple(id, u8)) FROM t GROUP BY id, u8 ORDER BY id LIMIT 1;
SELECT tuple(id, u8).1, (id, u8) IN ((1, 2)), id IN tuple(1, 2), max(tuple(id, s)) FROM t GROUP BY id, u8, s ORDER BY id LIMIT 1;
SELECT plus(id AS aa, 1), (id AS bb, 2), lower(s AS cc) FROM t ORDER BY id LIMIT 1;
SELECT s || 'x' || 'y', ('a' || s) || ('b' || s), concat(s, 'x') || 'y' FROM t ORDER BY id LIMIT 1;
SELECT DATE '2020-01-01', TIMESTAMP '2020-01-01 10:00:00', date '2020-01-02' + 1, '2020-01-01'::Date;
SELECT m.keys, m.values, arr.size0, ni.null, t.m.keys, ns.null + 1 FROM t ORDER BY id;
SELECT 7 MOD 4, id MOD 3, 7 MOD 4 DIV 2, (id + 1) MOD 2, mod(id, 2), id AS mod FROM t ORDER BY id;
SELECT -true, -b, -(id = 1), -(b AND true) FROM t ORDER BY id
SELECT length('\b\f'), upper('a\bc');
SELECT u8 IN [1, 3], u8 NOT IN [1], f IN [1.15, 12], s IN ['', 'a'], [u8] IN [[1]], (u8, 1) IN [(1, 1)], ni IN [1, NULL], u8 IN [u16], u8 IN (), u8 NOT IN (), u8 IN (1), i8 IN [-1, 2], u8 IN [lower('a') = 'a', 2] FROM t;
SELECT -inf::Float64, 1 - inf::Float64, -nan::Float64, - infinity::Float32, [-inf::Float64], inf::Float64, -(inf)::Float64, u8 -inf::Float64 FROM t;
SELECT (1, 2,), (1,), u8 IN (1, 2,), FROM t;
SELECT [1, 2,];
SELECT lower('A',);
SELECT quantile(0.5,)(u8) FROM t;
-- Types by the words that are written, places that are computed, arrays behind their table.
SELECT CAST('1.15' AS NUMERIC(10,2)), CAST(id AS INTEGER), CAST(u8 AS BIGINT), CAST(u8 AS double  precision), CAST(s AS varchar(10)), CAST(1 AS INT UNSIGNED), CAST(NULL AS Nullable(INT)), CAST([u8] AS Array(INT)), CAST(CAST(u8 AS TEXT) AS bool) FROM t WHERE u8 < 2 ORDER BY id;
SELECT u8::INTEGER, '1.15'::DECIMAL(5,1), 'x'::TEXT, 2::DOUBLE, (id + 1)::FLOAT, '2024-01-01'::TIMESTAMP, u8::TEXT::Nullable(TEXT), '2024-01-01'::date, u8::Int8 FROM t ORDER BY id;
SELECT arr[0 + 1], arr[1 + 1], sarr[2 - 1], arr[0x1], arr[2 + -1], [1, 2, 3][1 + 1], arr[id + -1], arr[-1 + 2], arr[1], -0x1F, u8 IN [], u8 NOT IN [], u8 IN () FROM t ORDER BY id;
SELECT e.arr, e.sarr, arr, e.id FROM t AS e ARRAY JOIN arr ORDER BY e.id, arr;
SELECT t.arr, t.arr + 1 FROM t ARRAY JOIN arr ORDER BY 1;
SELECT e.p.a, e.p.1, p.a, e.p FROM (SELECT [(1, 'x'), (2, 'y')]::Array(Tuple(a UInt8, b String)) AS p) AS e ARRAY JOIN p ORDER BY 1;
SELECT numbers.number FROM numbers(2);
SELECT u8, FROM t GROUP BY u8, ORDER BY u8;
SELECT u8 FROM t GROUP BY u8, HAVING u8 > 1;
SELECT u8 FROM (SELECT u8 FROM t ORDER BY u8,);
SELECT a.u8 FROM t AS a JOIN t AS b USING (id,);
SELECT dec IN [f] FROM t;
SELECT CASE dec WHEN 12345678901234567890 THEN 1 ELSE 0 END FROM t;
SELECT t - INTERVAL '30' minute, t + INTERVAL 3 DAY, INTERVAL '2' day + t, toStartOfInterval(t, INTERVAL '5' minute) FROM t ORDER BY id;
