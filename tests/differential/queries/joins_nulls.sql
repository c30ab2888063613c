-- join_use_nulls: a side of an outer join without a row reads as NULL of the Nullable type; arrays and maps, as defaults.
SELECT a.id, b.id, b.s, b.lc, b.arr, b.m, b.ns, b.d, b.b, b.dec, toTypeName(b.d), toTypeName(b.arr) FROM t AS a LEFT JOIN t AS b ON a.id = b.u8 ORDER BY a.id SETTINGS join_use_nulls = 1;
SELECT a.id, b.id, toTypeName(a.id), toTypeName(b.id) FROM t AS a RIGHT JOIN t AS b ON a.id = b.u8 ORDER BY b.id SETTINGS join_use_nulls = 1;
SELECT a.id, b.id, a.arr, toTypeName(a.id), toTypeName(b.id) FROM t AS a FULL JOIN t AS b ON a.id = b.u8 ORDER BY a.id, b.id SETTINGS join_use_nulls = true;
SELECT id, b.id, b.s, toTypeName(id) FROM t AS a LEFT JOIN (SELECT toInt64(id + 2) AS id, s FROM t) AS b USING id ORDER BY id SETTINGS join_use_nulls = 1;
SELECT id, a.id, b.id, a.s, b.s, toTypeName(id) FROM t AS a RIGHT JOIN (SELECT toInt64(id + 2) AS id, s FROM t) AS b USING id ORDER BY id SETTINGS join_use_nulls = 1;
SELECT id, a.id, b.id, a.s, b.s, toTypeName(id) FROM t AS a FULL JOIN (SELECT toInt64(id + 2) AS id, s FROM t) AS b USING id ORDER BY id SETTINGS join_use_nulls = 1;
SELECT a.id, b.id, b.s FROM t AS a ANTI LEFT JOIN t AS b ON a.id = b.u8 ORDER BY a.id SETTINGS join_use_nulls = 1;
SELECT a.id, b.k, toTypeName(b.k) FROM t AS a ANY LEFT JOIN (SELECT u8, 7 AS k FROM t WHERE u8 > 1) AS b ON a.u8 = b.u8 ORDER BY a.id SETTINGS join_use_nulls = 1;
SELECT a.id, b.u8, toTypeName(b.u8) FROM t AS a ASOF LEFT JOIN t AS b ON a.lc = b.lc AND a.id > b.id ORDER BY a.id SETTINGS join_use_nulls = 1;
SELECT a.id, b.s, c.s, toTypeName(a.s), toTypeName(b.s) FROM t AS a LEFT JOIN t AS b ON a.id = b.u8 LEFT JOIN t AS c ON b.id = c.u8 ORDER BY a.id SETTINGS join_use_nulls = 1;
SELECT count(), count(b.id), countIf(b.id IS NULL), sum(b.i64), max(b.s), groupArray(b.s), uniq(b.id) FROM t AS a LEFT JOIN t AS b ON a.id = b.u8 SETTINGS join_use_nulls = 1;
SELECT a.id FROM t AS a LEFT JOIN t AS b ON a.id = b.u8 WHERE b.s != '' OR isNull(b.i32) ORDER BY a.id SETTINGS join_use_nulls = 1;
SELECT ifNull(b.i64, -1), b.s || '!', b.f + 1, b.d + 1, coalesce(b.s, a.s) FROM t AS a LEFT JOIN t AS b ON a.id = b.u8 ORDER BY a.id SETTINGS join_use_nulls = 1;
SELECT x, y FROM (SELECT a.id AS x, b.id AS y FROM t AS a LEFT JOIN t AS b ON a.id = b.u8) ORDER BY x SETTINGS join_use_nulls = 1;
SELECT x, y FROM (SELECT a.id AS x, b.id AS y FROM t AS a LEFT JOIN t AS b ON a.id = b.u8 SETTINGS join_use_nulls = 0) ORDER BY x SETTINGS join_use_nulls = 1;
SELECT c.id, y FROM t AS c LEFT JOIN (SELECT a.id AS x, b.id AS y FROM t AS a LEFT JOIN t AS b ON a.id = b.u8 SETTINGS join_use_nulls = 1) AS q ON c.id = q.x + 3 ORDER BY c.id;
WITH q AS (SELECT a.id AS x, b.id AS y FROM t AS a LEFT JOIN t AS b ON a.id = b.u8) SELECT x, y, toTypeName(y) FROM q ORDER BY x SETTINGS join_use_nulls = 1;
SELECT id, (SELECT max(b.id) FROM t AS a LEFT JOIN none AS b ON a.id = b.id) AS m FROM t ORDER BY id SETTINGS join_use_nulls = 1;
