-- The default of a Date32: 1970-01-01 in columns, 1900-01-01 in functions that name the type's default.
SELECT a.k, b.x FROM (SELECT arrayJoin([1, 2]) AS k) AS a LEFT JOIN (SELECT 1 AS k, toDate32('2024-01-01') AS x) AS b ON a.k = b.k;
SELECT k, x, y FROM (SELECT 1 AS k, toDate32('2024-01-01') AS x) AS a FULL JOIN (SELECT 2 AS k, toDate32('2024-01-02') AS y) AS b USING (k);
SELECT max(x), min(x), any(x), argMax(x, x), anyLast(x), minIf(x, 0), maxOrNull(x), minOrDefault(x) FROM (SELECT toDate32('2024-01-01') AS x) WHERE x < '2000-01-01';
SELECT lagInFrame(x) OVER (ORDER BY x) AS a, leadInFrame(x) OVER (ORDER BY x) AS b, lag(x) OVER (ORDER BY x) AS c, lead(x) OVER (ORDER BY x) AS d, nth_value(x, 3) OVER (ORDER BY x) AS e FROM (SELECT toDate32('2024-01-01') AS x);
SELECT [x][9], arrayFirst(v -> v > '2050-01-01', [x]), arrayResize([x], 2), map('a', x)['b'], arrayShiftLeft([x], 1), maxIf(x, 0) = toDate32('1900-01-01') AS e FROM (SELECT toDate32('2024-01-01') AS x) GROUP BY x;
SELECT toDate32OrZero('x'), toDate32OrDefault('x'), toDate32OrNull('x'), defaultValueOfTypeName('Date32'), assumeNotNull(NULL::Nullable(Date32)), accurateCastOrDefault('x', 'Date32'), defaultValueOfArgumentType(toDate32('2024-01-01'));
SELECT toDate32(d) AS k, count() FROM t GROUP BY k WITH ROLLUP ORDER BY k, count();
