-- Forms of public projects. A heading says how many of the some 120 pipes that were read (of some 30 repositories) have it;
-- 0: found elsewhere. tests/differential/generator_forms.py makes more of each.

-- 7 pipes: INTERVAL of a number, units in any case and in the plural
SELECT t - interval 7 day AS x, d - INTERVAL 2 week - INTERVAL 1 DAYS AS y, t + INTERVAL '30' minute AS z, t + INTERVAL '30 minute' AS w FROM t ORDER BY id;
SELECT t >= now() - interval 7 day AS x, toDate('2020-01-01') - INTERVAL 10 MINUTES <= t AS y FROM t ORDER BY id;
-- 3 pipes: INTERVAL of a number with its type, as templates write it
SELECT t + INTERVAL toInt64('30') MINUTE AS x, toStartOfInterval(t, INTERVAL toInt32('15') minute) AS y FROM t ORDER BY id;
SELECT toStartOfInterval(t, toIntervalMinute(toInt64('30'))) AS x, date_add(DAY, toInt32('3'), d) AS y FROM t ORDER BY id;
-- 4 pipes: INTERVAL of an expression, constant or not
WITH 7 AS period_days SELECT d + INTERVAL -period_days day AS x, toStartOfInterval(t, INTERVAL period_days day) AS y FROM t ORDER BY id;
WITH toDate('2024-01-01') AS a, toDate('2024-01-31') AS b SELECT timestampAdd(a, interval -dateDiff('day', a, b) - 1 day) AS p;
SELECT t - interval id % (7 * 86400) second AS x, d + INTERVAL u8 day AS y, t + INTERVAL (u8 + 1) * 2 hour AS z FROM t ORDER BY id;
SELECT t3 - INTERVAL i8 SECOND AS x, t - INTERVAL ni MONTH AS y, dateAdd(minute, u8, t) AS z, date_sub(t, INTERVAL u8 minute) AS w FROM t ORDER BY id;
SELECT toStartOfInterval(t, INTERVAL 5 * 3 minute) AS x, toStartOfInterval(t, INTERVAL if(1 > 0, 5, 6) minute) AS y, toStartOfInterval(t, INTERVAL 30 / 2 MINUTE) AS z FROM t ORDER BY id;
SELECT t + INTERVAL 90 / 60 HOUR AS x, t + INTERVAL f HOUR AS y FROM t WHERE abs(f) < 100 ORDER BY id;
SELECT toDateTime('2024-01-01 00:00:00') + INTERVAL number HOUR AS h, toDate('2024-01-31') + toIntervalMonth(number) AS m FROM numbers(5) ORDER BY h;
SELECT arrayMap(x -> toDate('2024-01-31') + INTERVAL x MONTH, range(5)) AS q;
-- 0 pipes: sums of intervals
SELECT toDate('2024-01-31') - (INTERVAL 1 DAY - INTERVAL 1 MONTH) AS p, toDateTime('2024-01-01 00:00:00') + INTERVAL '1 day -2 hour' AS q;
WITH INTERVAL 1 MONTH - INTERVAL 1 DAY AS w SELECT d + w AS x FROM t WHERE id > 1 ORDER BY id;
SELECT d + if(u8 > 3, INTERVAL 1 DAY, INTERVAL 2 DAY) AS x FROM t ORDER BY id;
-- 1 pipe: LIMIT and OFFSET of expressions
SELECT id FROM t ORDER BY id LIMIT toInt32('2') OFFSET toInt32('1') * toInt32('1');
WITH 3 AS n SELECT id FROM t ORDER BY id LIMIT n OFFSET n * 1 - 2;
SELECT id FROM t ORDER BY id LIMIT (toInt32('2') - 1) * 2, intDiv(7, 2);
SELECT id FROM t ORDER BY id LIMIT if(1 = 1, 3, 4) OFFSET least(1, 4);
SELECT id FROM t ORDER BY id LIMIT (SELECT 2) OFFSET CAST(1 AS UInt32);
SELECT id FROM t ORDER BY id LIMIT 1 + 1 BY u8 LIMIT 2 * 2;
SELECT id FROM t ORDER BY id LIMIT 0 + 0, (1) BY u8;
-- 3 pipes: the step of a range
SELECT range(0, 24 * 3600 * 2, 24 * 3600) AS q, range(toInt64('1'), toInt64('5'), toInt64('2')) AS p;
SELECT arrayJoin(arrayMap(x -> toDate(x), range(toUInt32(toDate('2024-01-01')), toUInt32(timestampAdd(toDate('2024-01-03'), interval 1 day)))))  AS date ORDER BY date;
SELECT range(0, u8 % 10, id) AS x, range(i8 % 10, 12, toInt64(id)) AS y, range(toInt64(12), i8 % 10, -toInt64(id)) AS z FROM t ORDER BY id;
-- 0 pipes: parameters of aggregates
SELECT quantile(1 - 0.05)(i32) AS a, quantile(95 / 100)(i32) AS b, quantiles(0.5, 0.9 + 0.05)(i32) AS c, quantile(toFloat64('0.9'))(i32) AS e FROM t;
WITH 0.9 AS level SELECT quantile(level)(i32) AS a, windowFunnel(24 * 3600)(t, id = 1, id = 2) AS b, length(groupArray(1 + 2)(id)) AS c FROM t;
-- 0 pipes: types under their names in SQL
SELECT CAST(u8 AS VARCHAR) AS a, CAST(u8 AS TEXT) AS b, u8::text AS c, CAST(s AS varchar(255)) AS e, toString(u8)::varchar AS g FROM t ORDER BY id;
SELECT CAST(u8 AS INT) AS a, CAST(u8 AS BIGINT) AS b, CAST(u8 AS DOUBLE PRECISION) AS c, CAST(u8 AS BOOLEAN) AS e, CAST(dec AS DECIMAL(12, 3)) AS g FROM t ORDER BY id;
-- 3 pipes: names of window functions in upper case
SELECT id, ROW_NUMBER() OVER (PARTITION BY b ORDER BY id DESC) AS a, Rank() OVER (ORDER BY u8) AS c, DENSE_RANK() OVER (ORDER BY u8) AS e, PERCENT_RANK() OVER (ORDER BY u8) AS g FROM t ORDER BY id;
SELECT id, NTILE(2) OVER (ORDER BY id) AS a, NTH_VALUE(id, 2) OVER (ORDER BY id) AS c, LAG(id) OVER (ORDER BY id) AS e, Lead(id) OVER (ORDER BY id) AS g, FIRST_VALUE(id) OVER (ORDER BY id) AS h FROM t ORDER BY id;
WITH r AS (SELECT id, u8, ROW_NUMBER() OVER (PARTITION BY b ORDER BY id DESC) AS n FROM t) SELECT id, u8 FROM r WHERE n = 1 ORDER BY id;
-- 1 pipe: windows without ORDER BY
SELECT id, u8, lagInFrame(u8) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS previous, u8 - previous AS diff FROM (SELECT id, u8 FROM t ORDER BY id) ORDER BY id;
SELECT id, row_number() OVER () AS r FROM (SELECT id FROM t ORDER BY id DESC) ORDER BY id;
SELECT b, max(r) AS m, max(k) AS n FROM (SELECT b, row_number() OVER (PARTITION BY b) AS r, rank() OVER () AS k FROM t) GROUP BY b ORDER BY b;
-- 1 pipe: states over a window
SELECT id, finalizeAggregation(sumState(u8) OVER (PARTITION BY b ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) AS x FROM t ORDER BY id;
SELECT id, finalizeAggregation(uniqState(u8) OVER (ORDER BY id)) AS x, finalizeAggregation(avgState(u8) OVER (ORDER BY id)) AS y FROM t ORDER BY id;
SELECT id, sumMerge(s) OVER (ORDER BY id) AS x FROM (SELECT id, sumState(u8) AS s FROM t GROUP BY id) ORDER BY id;
-- 10 pipes: functions in upper case
SELECT COUNT(*) AS a, SUM(u8) AS b, ROUND(AVG(u8), 2) AS c, MAX(ABS(i8)) AS e, COUNT(DISTINCT u8) AS g, COUNT(CASE WHEN u8 > 1 THEN 1 END) AS h FROM t;
SELECT COALESCE(ni, 0) AS a, Coalesce(ni, 1) AS b, IFNULL(ni, 1) AS c, Round(f, 1) AS e, DATE_TRUNC('week', d) AS g, COS(0) AS h, TODAY() = today() AS k FROM t WHERE f = f AND abs(f) < 100 ORDER BY id;
SELECT CURRENT_DATE = today() AS a, CURRENT_TIMESTAMP >= NOW() - 5 AS b, current_timestamp() >= now() - 5 AS c;
-- 1 pipe: an alias before its definition
SELECT id, pt, (u8 - pv) / (t - pt) AS slope, lagInFrame(t, 1) OVER (PARTITION BY b ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS pt, lagInFrame(u8, 1) OVER (PARTITION BY b ORDER BY id ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS pv FROM t ORDER BY id;
-- 5 pipes: an alias with the name of a column
SELECT if(u8 == 0, 0, count()) AS plays, sum(id) * 7.3 AS income, max(i8) AS m FROM t GROUP BY u8 ORDER BY plays, income;
SELECT argMax(authors, comments) AS authors, argMax(number, comments) AS number, sum(stars) AS stars FROM (SELECT * FROM (SELECT lc, u8 AS number, count() AS comments, uniq(id) AS authors FROM t GROUP BY lc, number HAVING authors >= 1) AS t1 INNER JOIN (SELECT lc, count() AS stars FROM t GROUP BY lc HAVING stars > 0) AS t2 USING (lc)) GROUP BY lc ORDER BY stars DESC, authors, number LIMIT 1;
-- 2 pipes: an alias without AS
SELECT *, 0.00005 * 10 total FROM (SELECT id FROM t) ORDER BY id;
-- 4 pipes: results of aggregates used by their aliases
WITH toYear(t) AS year SELECT lc, sum(year = 2024) AS a, sum(year = 2023) AS c, round(a / c, 3) AS yoy FROM t GROUP BY lc HAVING a >= 1 ORDER BY yoy ASC, lc LIMIT 10;
WITH stats AS (SELECT b, quantileExact(0.25) (u8) AS lo, quantileExact(0.75) (u8) AS hi, (hi - lo) * 1.5 AS IQR FROM t GROUP BY b) SELECT DISTINCT id, t.b, ROUND((stats.lo - stats.IQR), 2) AS l FROM t JOIN stats ON t.b = stats.b ORDER BY id;
-- 1 pipe: a table by its own name beside its alias
WITH stats AS (SELECT id, avg(u8) AS average FROM t GROUP BY id) SELECT i.id, i.u8 - stats.average AS z, stats.average FROM t i JOIN stats s ON s.id = i.id ORDER BY i.id;
SELECT none.id AS x, a.id AS y FROM t AS a LEFT JOIN none AS b ON a.id = none.id LEFT JOIN none AS c ON c.id = a.id ORDER BY a.id;
-- 1 pipe: columns of a subquery with *
SELECT q.id, q.arr FROM (SELECT *, u8 + 1 AS z FROM t) AS q WHERE q.z > 3 ORDER BY q.id;
SELECT dp.*, aa.x FROM (SELECT id, u8 FROM t) dp LEFT JOIN (SELECT id, any(i8) x FROM t GROUP BY id) aa ON dp.id = aa.id ORDER BY dp.id;
-- 3 pipes: USING without parentheses, and after several joins
SELECT a.id, coalesce(b.c, 0) AS c, coalesce(p.m, 0) AS m FROM t AS a LEFT JOIN (SELECT id, count() AS c FROM t WHERE id < 3 GROUP BY id) AS b USING id LEFT JOIN (SELECT id, max(u8) AS m FROM t GROUP BY id) AS p USING id ORDER BY id;
-- 0 pipes: joins after ANY joins
SELECT a.id AS i, b.x, c.i8 AS y FROM t a ANY INNER JOIN (SELECT id, max(u8) AS x FROM t GROUP BY id) b ON a.id = b.id JOIN t c ON a.id = c.id ORDER BY a.id;
SELECT a.id AS i, b.x, c.i8 AS y, e.u8 AS z FROM t a ANY JOIN (SELECT id, max(u8) AS x FROM t GROUP BY id) b USING id LEFT JOIN t c ON b.x = c.u8 LEFT JOIN t e ON e.id = a.id ORDER BY a.id, y;
SELECT a.id AS i, b.x, c.y FROM t a ANY LEFT JOIN (SELECT DISTINCT id, 1 AS x FROM t) b ON a.id = b.id ANY LEFT JOIN (SELECT id, count() AS y FROM t GROUP BY id) c ON a.id = c.id ORDER BY a.id;
-- 5 pipes: scalar subqueries
WITH (SELECT avg(u8) FROM t) AS average SELECT id, u8 FROM t WHERE u8 > average ORDER BY id LIMIT 10;
SELECT toDateTime(concat(toString((SELECT max(d) FROM t)), ' 00:00:00')) AS x;
-- 0 pipes: scalar subqueries that make arrays or maps, and in lambdas
SELECT has((SELECT groupArray(id) FROM t WHERE id < 3), id) AS x FROM t ORDER BY id;
WITH (SELECT groupArray(id) FROM t WHERE id < 3) AS ids SELECT id FROM t WHERE has(ids, id) ORDER BY id;
WITH (SELECT groupUniqArray(s) FROM t WHERE id = 2) AS ids SELECT b, countIf(has(ids, s)) AS x FROM t GROUP BY b ORDER BY b;
WITH (SELECT groupArray(id) FROM t WHERE id < 3) AS ids SELECT b, arrayMap(x -> x + 1, ids) AS x, count() AS c FROM t GROUP BY b ORDER BY b;
SELECT has((SELECT groupArray(id) FROM t), 1) AS x;
SELECT arrayFilter(x -> x > (SELECT min(u8) FROM t WHERE id = 3), arr) AS x FROM t ORDER BY id;
SELECT a.id FROM t AS a JOIN t AS b ON a.id = b.id WHERE has((SELECT groupArray(id) FROM t WHERE id < 3), a.id) ORDER BY a.id;
SELECT mapKeys((SELECT map('a', max(id)) FROM t)) AS x FROM t WHERE id = 1;
SELECT id FROM t ORDER BY indexOf((SELECT groupArray(id) FROM (SELECT id FROM t ORDER BY id DESC)), id);
-- 0 pipes: * among the arguments of a function
SELECT uniq(*), uniqExact(a.*), count(*) FROM (SELECT id, u8 FROM t) AS a;
SELECT b, uniqExact(*) AS x FROM (SELECT id, b FROM t) GROUP BY b HAVING uniq(*) > 0 ORDER BY b;
SELECT tuple(*) AS x, greatest(*) AS y, cityHash64(* EXCEPT (u8)) AS z FROM (SELECT id, u8 FROM t) ORDER BY id;
-- 0 pipes: max2 and min2
SELECT max2(f, 1.5) AS a, min2(f, nf) AS b, max2(nan, f) AS c, min2(f, nan) AS e, max2(dec, f32) AS g, max2(ni, u64) AS h FROM t ORDER BY id;
-- 0 pipes: times beside numbers
SELECT id, t = 0 AS a, t < u64 AS b, t3 > 1.5 AS c, t3 = 0.001 AS e, nt > i64 AS g, t >= f AS h, 5 < t AS k, t BETWEEN 0 AND 1700000000 AS m FROM t ORDER BY id;
-- 3 pipes: elements of tuples, also after a space
SELECT tuple(1, 'a') .1 AS a, (u8, s) .2 AS b, arrayMap(x -> x .1, [(1, 2), (3, 4)]) AS c FROM t ORDER BY id;
-- 1 pipe: columns that are called interval
SELECT interval, count() AS c FROM (SELECT toStartOfMonth(t) AS interval FROM t) GROUP BY interval ORDER BY interval;
SELECT interval FROM (SELECT d AS interval, u8 AS day FROM t) WHERE interval >= toDate('2020-01-01') AND day > 0 GROUP BY interval HAVING count() > 0 ORDER BY interval;
-- 4 pipes: IN of an array, as templates write it, and of a split text
SELECT id FROM t WHERE lc IN (['a', 'b']) AND id IN ([1, 2, 3]) AND s NOT IN (array('x')) ORDER BY id;
SELECT id FROM t WHERE s NOT IN splitByChar(',', 'Hello World,x') AND lc IN splitByString(', ', 'a, b, c') ORDER BY id;
SELECT id FROM t WHERE lc IN (SELECT arrayJoin(['a', 'x'] || if('a' IN ['a'], ['b', 'c'], []))) ORDER BY id;
-- 2 pipes: IN of a common table expression
WITH x AS (SELECT id, u8 FROM t WHERE id < 4), y AS (SELECT DISTINCT id, u8 FROM x) SELECT id, min(t) AS m FROM t WHERE (id, u8) IN y GROUP BY id ORDER BY id;
-- 1 pipe: UNION ALL of NULL columns with columns that have a type
SELECT * FROM (SELECT *, NULL AS v, NULL AS w FROM (SELECT id FROM t) UNION ALL SELECT *, NULL AS v, NULL AS w FROM (SELECT id FROM t) UNION ALL SELECT id, u8 AS v, s AS w FROM t) ORDER BY id, v, w;
-- 1 pipe: ORDER BY a CASE
SELECT id, lc FROM t ORDER BY CASE lc WHEN 'a' THEN 2 WHEN 'b' THEN 1 END DESC, id;
-- 3 pipes: a calendar of days, months or hours, joined to counts
WITH toStartOfMonth(toDateTime64('2024-02-24 00:00:00.000', 3), 'UTC') AS start, toStartOfMonth(toDateTime64('2024-05-23 00:00:00.000', 3), 'UTC') AS end, dateDiff('month', start, end) + 1 AS months SELECT arrayJoin(arrayMap(x -> toDateTime64(start + toIntervalMonth(x), 3, 'UTC'), range(0, months))) AS interval ORDER BY interval;
SELECT formatDateTime(interval, '%FT%T.000%z') AS start, c FROM (SELECT toDateTime64('2024-07-15 00:00:00', 3) AS interval) AS a LEFT JOIN (SELECT toDateTime64(toStartOfDay(t), 3) AS interval, count() AS c FROM t GROUP BY interval) AS b USING interval;
SELECT toString(addDays(first, arrayJoin(range(toUInt32(dateDiff('day', first, last) + 1))))) AS date FROM (SELECT toDate('2024-01-01') AS first, toDate('2024-01-03') AS last) ORDER BY date;
-- 1 pipe: an empty array beside a function of arrays
SELECT id FROM t WHERE arrayIntersect(sarr, ['a', 'é']) != [] ORDER BY id;
-- 1 pipe: patterns that are made of constants
WITH ['hello', 'é'] AS ps, multiMatchAllIndices(s, arrayMap(x -> concat('(?i)', x), ps)) AS indices SELECT id, length(indices) AS n FROM t WHERE length(indices) > 0 ORDER BY id;
SELECT multiMatchAny(s, arrayMap(x -> '(?i)' || x, ['hello', 'x'])) AS x FROM t ORDER BY id;
-- 1 pipe: distances from an array of Float32
SELECT cosineDistance(arrayMap(x -> toFloat32(x), arr), [1., 2., 3.]) AS x FROM t WHERE length(arr) = 3 ORDER BY id;
SELECT round(cosineDistance(arrayMap(x -> toFloat32(x), arr), [toFloat32(1), toFloat32(2), toFloat32(3)]), 4) AS x, L1Norm([toFloat32(3)]) AS y, toTypeName(L2Distance([1, 2, 3], arrayMap(x -> toFloat32(x), arr))) AS z FROM t WHERE length(arr) = 3 ORDER BY id;
-- 2 pipes: aggregates of conditions and of conditional numbers
SELECT countIf(bitAnd(u8, 8) = 0 AND bitAnd(u8, 1) != 0) AS x, groupBitOr(toUInt8(multiIf(u8 = 1, 1, u8 IN (7, 3), 4, 8))) AS y, uniq(DISTINCT u8) AS z, truncate(avg(b), 2) AS w FROM t;
-- 3 pipes: times and dates in a zone beside an interval
SELECT id FROM t WHERE t < toDateTime(toDate('2024-06-01'), 'Asia/Tokyo') + interval 1 day AND t >= toDateTime(dateAdd(day, -7, toDate('2020-01-01')), 'Europe/Berlin') ORDER BY id;
SELECT formatDateTime(t3, '%Y-%m-%dT%H:%i:%S.%fZ', 'UTC') AS x, formatDateTime(t, '%FT%T', 'Asia/Tokyo') AS y FROM t ORDER BY id;
-- 1 pipe: tables with a comma between them
SELECT a, c, s FROM (SELECT count() AS a FROM t) AS x, (SELECT max(u8) AS c FROM t) AS y, (SELECT sum(u8) AS s FROM t) AS z;
-- 2 pipes: GROUP BY an alias that has the name of a column
SELECT case when lc = 'a' then '' else lc end AS lc, s, uniqExact(id) AS visits FROM t GROUP BY lc, s ORDER BY lc, s;
-- 2 pipes: merged states and fresh rows in one answer
SELECT k, sum(visits) AS visits FROM (SELECT lc AS k, uniqExactMerge(v) AS visits FROM (SELECT lc, uniqExactState(id) AS v FROM t GROUP BY lc) GROUP BY k UNION ALL SELECT s AS k, uniqExact(id) AS visits FROM t GROUP BY k) GROUP BY k ORDER BY visits DESC, k LIMIT 1, 3;
-- 1 pipe: a set that a lambda makes
SELECT s IN arrayMap(x -> concat(x, 'b'), ['a', '']) AS x, notIn(s, arrayMap(x -> concat(x, ''), ['x'])) AS y, s NOT IN (arrayMap(x -> concat(x, ''), ['x'])) AS z FROM t;
WITH arrayMap(x -> concat(x, ''), ['x']) AS l SELECT id, s IN l AS x, u8 IN (arrayFirst(x -> x > 1, [1, 3])) AS y, u8 IN (arrayFirst(x -> x > 1, [1, 3]), 4) AS z FROM t ORDER BY id;
-- 2 pipes: texts as times beside an interval, as templates write times
SELECT t >= '2024-03-08 00:00:00' - INTERVAL 30 DAY AS x, '2024-01-31' + INTERVAL 1 MONTH AS y, '2024-03-08 00:00:00.5' + INTERVAL 90 MINUTE AS z FROM t ORDER BY id;
SELECT toString(d) - INTERVAL 1 DAY AS x, toTypeName(toString(d) + INTERVAL 1 HOUR) AS y, if(id > 2, '2024-02-28 10:00:00', NULL) + INTERVAL 2 WEEK AS z FROM t WHERE toYear(d) > 1970 ORDER BY id;
-- 2 pipes: JSON at a computed key or position
SELECT k, JSONExtractString('{"a":"x","b":{"z":1,"c":[1,2]},"d''e":"q"}', k) AS v, JSONHas('{"a":1}', k) AS h, JSONType('{"a":1,"b":"x"}', k) AS y, JSONLength('{"b":[1,2]}', k) AS l FROM (SELECT arrayJoin(['a', 'b', 'd''e', 'zz', '']) AS k) ORDER BY k;
SELECT k, JSONExtractRaw('{"b":{"z":1,"c":[1,2]},"a":[{"y":1,"x":2},5]}', k) AS v, JSONExtractInt('{"a":[7,8,9]}', 'a', k) AS i, JSONExtractRaw('[[1],{"z":1,"a":2}]', k) AS w, JSONExtract('[1,2]', k, 'UInt8') AS u FROM (SELECT arrayJoin([1, 2, 0, -1, 7]) AS k) ORDER BY k;
SELECT k, JSONExtractString('{"a":"x"}', k) AS v, JSONHas('{"a":1}', k) AS h FROM (SELECT arrayJoin(['a', NULL]) AS k) ORDER BY k;
SELECT arrayMap(k -> JSONExtractInt('{"a":1,"b":2}', k), JSONExtractKeys('{"a":1,"b":2}')) AS v, JSONExtractInt('{"a''b":{"x]":5}}', 'a''b', 'x]') AS w, JSONExtractKeys('{"a":{"c":1,"b":2}}', concat('', 'a')) AS x;
-- 1 pipe: statistics of Float32 and Decimal
SELECT round(stddevPop(f32), 3) AS a, toTypeName(varSamp(f32)) AS b, toTypeName(stddevPop(dec)) AS c, round(stddevSamp(dec), 6) AS e, toTypeName(corr(f32, f32)) AS g, toTypeName(stddevPopStable(f32)) AS h FROM t WHERE abs(f32) < 100;
SELECT round(stddevPopMerge(s), 3) AS a, toTypeName(stddevPopMerge(s)) AS b FROM (SELECT b, stddevPopState(f32) AS s FROM t WHERE abs(f32) < 100 GROUP BY b);
-- 1 pipe: a start position that is a UInt64
SELECT position(s, 'l', toUInt64(id)) AS x, arrayMap(i -> position('abcabc', 'c', i), range(toUInt64(1), toUInt64(6))) AS y, position('abc', 'b', toUInt64(18446744073709551615)) AS z FROM t ORDER BY id;
-- 2 pipes: names that are words of other databases
WITH now() AS current_time, 5 AS current_user SELECT current_time <= now() AS a, current_user AS b, current_date = today() AS c;
SELECT current_date, a.current_timestamp AS b FROM (SELECT id AS current_date, u8 AS current_timestamp FROM t) AS a ORDER BY current_date;
-- 0 pipes: in and notIn as calls
SELECT in(id, (1, 2)) AS a, notIn(id, (3)) AS b, in(s, ['a', 'Hello World']) AS c, not in(id, (3, 4)) AS e, in(id, (SELECT id FROM t WHERE id < 3)) AS g, in(id, 1) AS h FROM t WHERE in(id, (1, 2, 3)) OR notIn(s, tuple('a')) ORDER BY id;
-- 3 pipes: IN of a computed array
SELECT id IN splitByChar(',', '1,2,3', 2) AS a, id IN arrayMap(x -> toUInt32(x), splitByChar(',', '1,2')) AS b, s NOT IN arrayConcat(['a'], ['Hello World']) AS c, id IN (range(3)) AS e FROM t ORDER BY id;
SELECT id IN CAST(['1', '2'] AS Array(UInt32)) AS a, ni IN arrayConcat([1, 2], []) AS b, lc IN JSONExtract('["a"]', 'Array(String)') AS c, id IN arrayConcat(['1'], ['3']) AS e, toTypeName(id IN arrayFilter(x -> x > 1, [1, 2])) AS g FROM t ORDER BY id;
SELECT d IN arrayConcat(['2020-01-01'], ['2024-01-02']) AS a, i8 IN arrayMap(x -> x + 255, [1, 2]) AS b, u8 IN arrayMap(x -> x / 2, [1, 2, 14]) AS c FROM t ORDER BY id;
-- 1 pipe: nanoseconds between times, and now64 in a zone
SELECT dateDiff('nanosecond', toDateTime64('2024-01-01 00:00:00.123456789', 9), toDateTime64('2024-01-01 00:00:01.5', 3)) AS a, dateDiff('ns', t, t3) AS b, toTypeName(now64(3, 'UTC')) AS c FROM t WHERE toYear(t) BETWEEN 1971 AND 2100 ORDER BY id;
-- 1 pipe: nullIf of a value beside a text, and of values of other types
SELECT id, nullIf(t, '2024-02-29 12:34:56') AS a, nullif(d, '2024-01-02') AS b, nullIf(id, '1') AS c, nullIf(u8, i64) AS e, nullIf(f, nan) AS g, nullIf(ni, u8) AS h, toTypeName(nullIf(d, t)) AS i, nullIf(lc, 'a') AS j, nullIf(dec, 1.5) AS k FROM t ORDER BY id;
SELECT b, NULLIF(MIN(t) FILTER (WHERE id > 1), '1970-01-01 00:00:00') AS a, nullIf(count(), 2) AS c, nullIf(any(ns), NULL) IS NULL AS e FROM t GROUP BY b ORDER BY b;
-- 1 pipe: IN of a list in brackets that is cast
SELECT id IN [1, 2]::Array(UInt32) AS a, s NOT IN ['a']::Array(String) AND b AS c, id IN CAST([1, 3], 'Array(UInt8)') AS e, id IN [1]::Array(UInt8) OR id IN [4 + 1, 2]::Array(UInt8) AS g FROM t WHERE id NOT IN [9]::Array(Int64) ORDER BY id;
-- 1 pipe: DISTINCT ON before a join's columns, and intervals as texts
SELECT DISTINCT ON (x.u8) x.u8, x.id FROM t AS x LEFT JOIN (SELECT id, count() AS n FROM t GROUP BY id) AS r ON x.id = r.id ORDER BY x.u8, x.id, r.n DESC NULLS LAST;
SELECT id, t - INTERVAL '7 days' AS a, t >= toDateTime('2024-01-02 00:00:00') - INTERVAL '1 year' AS b FROM t ORDER BY id;
-- 1 pipe: conditions in WITH, which stand in the rows' condition
WITH toDateTime('2024-02-01 00:00:00') AS now_is, CASE WHEN 'month' = 'month' THEN subtractWeeks(now_is, 3) WHEN 'week' = 'month' THEN subtractDays(now_is, 6) ELSE subtractMonths(now_is, 11) END AS since SELECT CASE WHEN 'a' = 'b' THEN formatDateTime(toStartOfWeek(t), '%m-%d') ELSE formatDateTime(toStartOfMonth(t), '%Y-%m') END AS period, count(DISTINCT s) AS n FROM t WHERE t >= since GROUP BY period ORDER BY period;
-- 1 pipe: numbered rows of tuples in nested lambdas
WITH arraySort(groupArray((id, s))) AS found SELECT arrayStringConcat(arrayMap(p -> concat(toString(p.1.1), ': ', p.1.2), arrayFilter(p -> p.2 = indexOf(arrayMap(x -> x.2, found), p.1.2), arrayZip(found, arrayEnumerate(found)))), '; ') AS x, splitByChar(' ', max(s))[1] AS y FROM t WHERE id < 5;
-- 1 pipe: expressions without a name in WITH
WITH 'all', number + 1 AS x, 5, [1, 2] SELECT x, (WITH 'q', 2 AS y SELECT y) AS z FROM numbers(2);
-- 2 pipes: a SELECT or table function that is joined has no alias
WITH moments AS (SELECT toDateTime('2024-01-01 00:00:00') AS start) SELECT addMinutes(start, number) AS minute, k FROM numbers(3) CROSS JOIN moments LEFT JOIN (SELECT toDateTime('2024-01-01 00:01:00') AS at, 7 AS k) ON addMinutes(start, number) = at ORDER BY minute;
SELECT id, k, n FROM t LEFT JOIN (SELECT id, count() AS n FROM t GROUP BY id) USING (id) LEFT JOIN (SELECT 2 AS j, 'b' AS k) ON id = j ORDER BY id;
-- 1 pipe: a day in a format, with a time zone
SELECT id, formatDateTime(d, '%a %e %b', 'UTC') AS a, formatDateTime(d, '%F %T', 'America/New_York') AS b, formatDateTime(toDate32(d), '%F %T', 'Asia/Tokyo') AS c FROM t ORDER BY id;
-- 2 pipes: a tuple out of a JSON text, and its elements by name
WITH JSONExtract(j, 'Tuple(a String, b Int64, c Nullable(String), e Float64, f Bool)') AS p SELECT j, p.1 AS one, getSubcolumn(p, 'b') AS two, getSubcolumn(p, 'c') AS three, p.e AS four, p.f AS five, toTypeName(p) AS named, getSubcolumn(JSONExtract(j, 'k', 'Tuple(a String, b Int64)'), 'a') AS inner FROM (SELECT arrayJoin(['{"a":"x","b":3,"f":true}', '{"a":5,"e":1.5}', '{"b":"7","a":null,"c":"y"}', '["x", 4]', '"x"', 'bad', '', '{"k":{"a":"z","b":1},"b":3.7}', '{"a":true,"b":false,"f":0,"e":"2.5"}', '["x"]', '["x", 4, "v", 2, true, 9]', '[]', '7', 'null']) AS j);
SELECT JSONExtract(j, 'Tuple(t Tuple(a Int64, b Array(String)), u Tuple(a String))') AS x, getSubcolumn(x, 't.b') AS y, getSubcolumn((id, 'q'), '2') AS z FROM (SELECT id, arrayJoin(['{"t":{"a":1,"b":["p"]},"u":5}', '[[3,["r","s"]],[4]]', '{"t":1}', '[]', '[5]', '{"u":{"a":"v"},"t":{"b":[]}}']) AS j FROM t WHERE id = 1);
-- 2 pipes: a column twice, by an alias before its definition or beside `*`: its name means the first
SELECT pv, diff FROM (SELECT id, pv, u8 - pv AS diff, lagInFrame(u8, 1) OVER (ORDER BY id) AS pv FROM t) ORDER BY diff, pv;
WITH r AS (SELECT id, pv, lagInFrame(u8, 1) OVER (ORDER BY id) AS pv FROM t) SELECT * FROM r WHERE pv > 1 ORDER BY id;
SELECT id, count() AS c FROM (SELECT u8, id, * FROM t) GROUP BY id ORDER BY id;
SELECT * FROM (SELECT id, u8 AS k, id, k FROM t) ORDER BY id;
SELECT x.*, y.u8 FROM (SELECT id, id FROM t) AS x JOIN t AS y ON x.id = y.id ORDER BY y.id;
SELECT * EXCEPT (u8) FROM (SELECT u8, id, u8 FROM t) ORDER BY id;
SELECT * FROM (SELECT id, id FROM t) AS a JOIN (SELECT id, u8 FROM t) AS b USING id ORDER BY id;
SELECT id FROM (SELECT *, toUInt32(id + 1) AS id FROM (SELECT id FROM t)) ORDER BY id;
SELECT uniqExact(*) AS n FROM (SELECT id, id FROM t);
-- 3 pipes: columns with a dot in their name
SELECT a.id, x.a.id AS y, length(`a.s`) AS n FROM (SELECT a.id, a.s, b.u8 AS z FROM t AS a JOIN t AS b ON a.id = b.id JOIN t AS c ON a.id = c.id) AS x ORDER BY a.id;
SELECT E.n, length(E.n) AS c, E.n.size0 AS k, arrayMap(v -> v + 1, x.E.n) AS m, `E.k` FROM (SELECT id, arr AS `E.n`, sarr AS `E.k` FROM t) AS x WHERE notEmpty(E.k) ORDER BY id;
SELECT id, e FROM (SELECT id, arr AS `E.n` FROM t) ARRAY JOIN E.n AS e ORDER BY id, e;
SELECT E.g, count() AS c FROM (SELECT lc AS `E.g`, id FROM t) GROUP BY E.g HAVING c > 1 ORDER BY E.g;
-- 0 pipes: DISTINCT and columns of a table in count
SELECT count(DISTINCT *) FROM (SELECT u8, ni FROM t);
SELECT b, count(DISTINCT a.*) AS n, count(a.*) AS k FROM (SELECT ni FROM t) AS a CROSS JOIN (SELECT DISTINCT b FROM t) AS c GROUP BY b ORDER BY b;
SELECT count(* EXCEPT (id)), count(DISTINCT * EXCEPT (id)) FROM (SELECT id, ni FROM t);
