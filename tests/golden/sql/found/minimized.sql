-- Differences that made-up queries found, each as small as it got; both engines answer alike since.
SELECT NOT (nan > 3) AS a, nan = nan AS b, 1 <= nan AS c FROM t;
SELECT nullIf(-1, NULL) AS a, nullIf(ni, 5) AS b FROM t;
SELECT maxOrNull([1.5, -2.5]) AS a, uniqOrNull(id) AS b FROM t;
SELECT quantilesExact(0.9)(f) AS a FROM none;
SELECT multiIf(u8 > 3, 1, NULL, 2, 3) AS a FROM t;
SELECT toStartOfWeek(t3, 1) AS a, toMonday(t) AS b FROM t;
SELECT addQuarters(d, -128) AS a FROM t;
SELECT DISTINCT multiSearchFirstIndex(ns, ['x']) AS a FROM t;
SELECT multiSearchAnyCaseInsensitive(s, ['HELLO', '']) AS a FROM t;
SELECT arrayDistinct([1, NULL, 3]) AS a, JSONExtractString(js, 1) AS b FROM t;
SELECT JSONExtractRaw('{"o": {"z": 1, "a": [2, {"y": 1e3, "b": 1.50}]}}', 'o') AS a;
SELECT toUInt8(2) AS k, count() AS n FROM t GROUP BY k;
SELECT 0 AS c0 FROM t UNION DISTINCT SELECT nf AS c0 FROM t;
SELECT leftUTF8(url, ni) AS a, rightUTF8(s, ni) AS b, left(s, ni) AS c, right(s, ni) AS d, substring(s, ni) AS e, substringUTF8(s, 1, ni) AS f, substring(s, ni, 2) AS g, right(s, i8) AS h FROM t;
SELECT CASE WHEN b.u8 IS NULL THEN toDateTime('2024-03-10 07:30:00', 'America/New_York') ELSE b.t END AS c2 FROM t AS a LEFT JOIN t AS b ON a.id = b.u8;
