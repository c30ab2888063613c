-- The greatest of numbers among which is NaN: any other is greater.
SELECT max(f) AS a, max(nf) AS b, max(f32) AS c, max(if(id > 3, nan, f)) AS d, max(nan) AS e, max(-inf) AS g, max(if(id = 1, nan, -inf)) AS h, max(DISTINCT f) AS i, maxIf(f, id > 100) AS j, maxOrNull(f) AS k, max(if(id = 1, -0., 0.)) AS l, max(if(id = 1, 0., -0.)) AS m FROM t;
SELECT max(f), max(nf) FROM none;
SELECT lc, max(f), max(nf), max(f32) FROM t GROUP BY lc ORDER BY lc;
SELECT id, max(if(id < 3, nan, f)) OVER (ORDER BY id) AS a, max(f) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS b FROM t ORDER BY id;
SELECT maxMerge(s) FROM (SELECT maxState(if(id < 3, nan, f)) AS s FROM t GROUP BY id);
