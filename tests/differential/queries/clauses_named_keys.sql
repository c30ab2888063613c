-- Names that GROUP BY and ORDER BY give, and choices in lambdas
SELECT m, count() FROM t GROUP BY toStartOfMonth(d) AS m ORDER BY m;
SELECT toDate(t) AS q, count(), m FROM t GROUP BY toStartOfMonth(q) AS m, q ORDER BY m AS z DESC, q;
SELECT k, k2, sum(u8) AS s FROM t GROUP BY id % 3 AS k, if(k = 1, 'one', 'other') AS k2 WITH ROLLUP ORDER BY k, k2, s;
SELECT k FROM (SELECT id % 4 AS k FROM t) GROUP BY k AS z HAVING z > 1 ORDER BY z + 1 AS y DESC LIMIT 2;
SELECT id FROM t WHERE id > 1 ORDER BY id % 3 AS r, r + id AS s DESC LIMIT 1 BY r;
SELECT id, sum(u8) OVER (PARTITION BY lc ORDER BY id AS i) FROM t ORDER BY id;
SELECT id, arrayMap(x -> x > 0 ? 'p' : 'n', arr) FROM t ORDER BY id;
SELECT EXTRACT(dow FROM d), extract(DOY FROM t3), extract(isodow FROM nt), EXTRACT(ISOYEAR FROM d), extract(millisecond FROM t3), extract(microsecond FROM t3) FROM t ORDER BY id;
