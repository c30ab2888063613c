-- The order of arrays and tuples that hold NULL or NaN.
SELECT [NULL, 1] < [1], [NULL] > [3], [NULL] < [3], [1, NULL] > [1, 2], [NULL] < [NULL, 1], [NULL] <= [NULL], [nan] > [3], [1, NULL] < [1], [(NULL, 1)] > [(5, 1)], [[NULL]] > [[3]], [(1, nan)] = [(1, nan)];
SELECT n, [n] = [1], [n] != [1], [n] = [NULL], [1, n] < [1, 2], [n] < [1], [n] > [3], [n] >= [3], [n] <= [1] FROM (SELECT arrayJoin([NULL, 1, 2]) AS n);
SELECT a FROM (SELECT arrayJoin([[1], [NULL, 1], [3], [NULL], [], [1, NULL], [1, 2]]) AS a) ORDER BY a;
SELECT a FROM (SELECT arrayJoin([[1], [NULL, 1], [3], [NULL], [], [1, NULL], [1, 2]]) AS a) ORDER BY a DESC NULLS FIRST;
SELECT a FROM (SELECT arrayJoin([[1.], [nan, 1], [3.], [nan], [], [1, nan], [1, 2]]) AS a) ORDER BY a DESC;
SELECT x FROM (SELECT arrayJoin([[NULL], [1., 2.], [1., nan], [nan]]) AS x) ORDER BY x NULLS FIRST;
SELECT k FROM (SELECT arrayJoin([(1, NULL), (1, 2), (NULL, 3), (0, 0), (NULL, NULL)]) AS k) ORDER BY k;
SELECT k FROM (SELECT arrayJoin([(1, nan), (1, 2.), (nan, 3.), (0, 0.), (nan, nan)]) AS k) ORDER BY k DESC;
SELECT k, count() FROM (SELECT arrayJoin([(1, NULL), (1, NULL), (NULL, 3), (NULL, 3)]) AS k) GROUP BY k ORDER BY k;
SELECT [ni, 1] AS k, count() FROM t GROUP BY k HAVING k > [5] ORDER BY k;
SELECT id, row_number() OVER (ORDER BY (ni, id)) AS r, max((ni, id)) OVER (ORDER BY id) AS mx, rank() OVER (ORDER BY [ni]) AS rr FROM t ORDER BY id;
SELECT max(a), argMax(i, a), argMax(a, i), argMin(a, i) FROM (SELECT arrayJoin([(1, [1]), (2, [NULL, 1]), (3, [3]), (4, [])]) AS p, p.1 AS i, p.2 AS a);
SELECT max(k), argMax(i, k), min(k.1) FROM (SELECT arrayJoin([(1, (1, nan)), (2, (1, 2.)), (3, (2, nan)), (4, (0, 0.))]) AS p, p.1 AS i, p.2 AS k);
SELECT max(tuple(x)), min(tuple(x)), max([x]), min([x]), argMin(x, (x, 1)) FROM (SELECT arrayJoin([nan, 1., 2.]) AS x);
SELECT lc, max((ni, id)), argMax(id, (nf, id)) FROM t GROUP BY lc;
SELECT argMaxMerge(a), maxMerge(b) FROM (SELECT lc, argMaxState(id, (nf, id)) AS a, maxState((nf, id)) AS b FROM t GROUP BY lc);
SELECT arrayReduce('max', [(1, NULL), (1, 2)]), arrayReduce('argMax', [1, 2], [(1, NULL), (1, 2)]);
SELECT greatest([1, 2], [1, 3]), least([NULL], [3]), greatest((1, NULL), (1, 2)), least((NULL, 1), (1, 1)), least((1, nan), (1, 2.)), greatest([1.], [nan]);
