-- Tuples that hold NULL or NaN, compared with = <> < >, IN, BETWEEN, in conditions and in joins.
SELECT n, tuple(n) = tuple(1) AS a, tuple(n) != tuple(1) AS b, tuple(n) < tuple(1) AS c, tuple(n) >= tuple(1) AS d FROM (SELECT arrayJoin([NULL, 1, 2]) AS n);
SELECT n, m, (n, m) = (1, 1), (n, m) != (1, 1), (n, m) < (1, 1), (n, m) > (1, 1), (n, m) <= (1, 1), (n, m) >= (1, 1) FROM (SELECT arrayJoin([NULL, 1, 2]) AS n, arrayJoin([NULL, 0, 1, 2]) AS m);
SELECT (1, NULL) = (1, NULL), (1, NULL) = (2, NULL), (0, NULL, 3) < (1, 2, 3), (2, NULL) > (1, NULL), (NULL, 2) != (1, 1), NOT ((NULL, 'a') = (1, 'a'));
SELECT x, y, (x, 1) = (y, 1), (x, 1) != (y, 1), (x, 1) < (y, 1), (x, 1) <= (y, 1), (x, 1) > (y, 1), (x, 1) >= (y, 1), (1, x) < (1, y), (1, x) >= (1, y) FROM (SELECT arrayJoin([nan, 1., inf]) AS x, arrayJoin([nan, 1., -inf]) AS y);
SELECT (1, (2, n)) = (1, (2, 3)), ((n, 1), 2) < ((1, 1), 2), (n, 1) BETWEEN (0, 1) AND (1, 1), toTypeName((n, 1) < (1, 1)) FROM (SELECT arrayJoin([NULL, 3]) AS n);
SELECT id FROM t WHERE NOT ((lc, ni) = ('b', 5)) ORDER BY id;
SELECT id FROM t WHERE (lc, ni) != ('b', 5) AND (id, ni) < (5, 7) ORDER BY id;
SELECT if((n, 1) = (1, 1), 'a', 'b'), multiIf((n, 1) != (1, 1), 'x', (n, 1) = (1, 1), 'y', 'z') FROM (SELECT arrayJoin([NULL, 1, 2]) AS n);
SELECT (t3, ni) = ('2024-02-29 23:59:59.999', 5), (d, nt) < ('2024-07-15', '2024-08-01 00:00:00'), (dec, nf) >= (1, 0.1), (f32, nf) = (0.5, 0.1) FROM t;
SELECT arrayFilter(p -> p != (1, 1), [(1, 1), (NULL, 1), (2, 1)]), arrayCount(p -> p < (2, 0), [(1, 1), (NULL, 1)]);
SELECT (NULL, 1) IN ((7, 7), (NULL, 1)), (NULL, 1) NOT IN ((7, 7), (NULL, 1)), (1, NULL) IN ((1, NULL)), (1, 1) NOT IN ((1, NULL), (2, 2));
SELECT n, (n, 1) IN ((7, 7), (NULL, 1)), (n, 1) NOT IN ((7, 7), (NULL, 1)), (n, 1) NOT IN ((1, 1)), (n, 1) IN [(1, 1)], (1, (n, 1)) IN ((1, (NULL, 1))) FROM (SELECT arrayJoin([NULL, 1, 2]) AS n);
SELECT id FROM t WHERE (lc, ni) IN (('b', 5), ('a', NULL)) ORDER BY id;
SELECT a.n, b.n FROM (SELECT arrayJoin([NULL, 1, 2]) AS n) AS a LEFT JOIN (SELECT arrayJoin([NULL, 1, 3]) AS n) AS b ON (a.n, 1) = (b.n, 1);
SELECT a.n, b.n FROM (SELECT arrayJoin([nan, 1, 2]) AS n) AS a LEFT JOIN (SELECT arrayJoin([nan, 1, 3]) AS n) AS b ON (a.n, 1) = (b.n, 1);
SELECT k, n FROM (SELECT (arrayJoin([NULL, 1, 2]), 1) AS k) AS a JOIN (SELECT (arrayJoin([NULL, 1, 3]), 1) AS k, 5 AS n) AS b USING (k);
SELECT tupleMultiplyByNumber((n, f), 2) <=> (CAST(2 AS Nullable(Int64)), 3.), (tupleMultiplyByNumber((n, f), 2) IS DISTINCT FROM tupleMultiplyByNumber((n, f), 4)), (2, 3.) <=> tupleMultiplyByNumber((n, f), toInt64(2)) FROM (SELECT arrayJoin([CAST(NULL AS Nullable(Int64)), 1, 2]) AS n, arrayJoin([1.5, nan]) AS f);
