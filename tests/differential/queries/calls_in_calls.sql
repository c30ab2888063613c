-- Calls in calls of functions that write an argument several times: the inner call is bound once where it is long.
SELECT replaceOne(replaceOne(replaceOne(replaceOne(replaceOne(s, 'a', 'b'), 'b', 'cc'), 'c', ''), '', 'x'), 'x', 'é') AS r, count() AS n FROM (SELECT arrayJoin(['', 'a', 'abc', 'aabb', 'xyz', 'éa', 'A']) AS s) GROUP BY replaceOne(replaceOne(replaceOne(replaceOne(replaceOne(s, 'a', 'b'), 'b', 'cc'), 'c', ''), '', 'x'), 'x', 'é') ORDER BY r;
SELECT s FROM (SELECT arrayJoin([NULL, 'a', 'ab', 'b']) AS s) WHERE replaceOne(replaceOne(replaceOne(replaceOne(s, 'a', 'b'), 'b', 'c'), 'c', 'd'), 'd', 'e') = 'e' ORDER BY s;
SELECT roundAge(roundAge(roundAge(roundAge(n)))) AS r, toTypeName(r) FROM (SELECT arrayJoin([-1, 0, 17, 18, 30, 60, 200]) AS n) ORDER BY n;
SELECT log(log(log(log(log(x))))) AS r FROM (SELECT arrayJoin([1e300, 1e10, 2., 1., 0., -1., nan, inf]) AS x) ORDER BY x, isNaN(x);
SELECT JSONExtractString(JSONExtractString(JSONExtractString(j, 'a'), 'b'), 'c') AS r FROM (SELECT arrayJoin(['{"a":"{\\"b\\":\\"{\\\\\\"c\\\\\\":\\\\\\"deep\\\\\\"}\\"}"}', '{"a":1}', '{}', 'x', '']) AS j) ORDER BY j;
SELECT arrayMap(x -> replaceOne(replaceOne(replaceOne(replaceOne(x, 'a', 'b'), 'b', 'c'), 'c', 'd'), 'd', x), ['', 'a', 'ab', 'dd']) AS r;
SELECT replaceOne(replaceOne(replaceOne(replaceOne(max(s), 'b', 'c'), 'c', 'd'), 'd', 'e'), 'e', min(s)) AS r, sum(length(replaceOne(replaceOne(replaceOne(replaceOne(s, 'a', 'aa'), 'b', 'bb'), 'c', ''), 'x', s))) AS n FROM (SELECT arrayJoin(['a', 'ab', 'b', 'bc']) AS s);
SELECT s, replaceOne(replaceOne(replaceOne(replaceOne(any(s) OVER (ORDER BY s ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING), 'a', 'b'), 'b', 'c'), 'c', 'd'), 'd', s) AS r FROM (SELECT arrayJoin(['a', 'ab', 'b']) AS s) ORDER BY s;
SELECT throwIf(length(replaceOne(replaceOne(replaceOne(replaceOne(s, 'a', 'b'), 'b', 'c'), 'c', 'd'), 'd', 'e')) > 3) AS r FROM (SELECT arrayJoin(['a', 'ab']) AS s);
