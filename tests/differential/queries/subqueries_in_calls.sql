-- Subqueries as values inside of functions of arrays and maps, and of others.
SELECT arrayMap(x -> x + 1, [(SELECT 1)]);
SELECT arrayFilter(x -> x > (SELECT 1), [1, 2]), arrayCount(x -> x = 1, [(SELECT 1)]), toString([(SELECT 1)]);
SELECT map('a', (SELECT 1))['a'], mapValues(map('a', (SELECT 1))), arrayStringConcat([(SELECT 'a'), 'b']), arrayDistinct([(SELECT 1)]), arrayReverse([(SELECT 1)]);
SELECT formatDateTime((SELECT max(t) FROM t), '%Y'), splitByChar(',', (SELECT 'a,b')), arrayJoin(splitByChar(',', (SELECT 'a,b'))), substring((SELECT 'abc'), 2), toStartOfInterval((SELECT max(t) FROM t), INTERVAL 3 DAY);
SELECT multiIf((SELECT 1) = 1, 2, 3), round((SELECT 1.5)), toUInt8OrZero((SELECT '5')), toString((SELECT 1.5)), parseDateTimeBestEffort((SELECT '2024-01-01')), JSONExtractInt((SELECT '{"a": 1}'), 'a');
SELECT quantile((SELECT 0.5))(id) FROM t;
SELECT bitCount((SELECT 5)), bitRotateLeft((SELECT toUInt8(5)), 1), greatest((SELECT 5), id), concat((SELECT 'a'), s), position((SELECT 'abc'), 'b'), replaceAll((SELECT 'abc'), 'b', 'd'), upper((SELECT 'a')), extract((SELECT 'abc'), 'b') FROM t ORDER BY id;
SELECT id, upper((SELECT max(s) FROM t AS o WHERE o.id = a.id)), if((SELECT max(i32) FROM t AS o WHERE o.id = a.id) > 3, 'more', 'less'), toString((SELECT max(f) FROM t AS o WHERE o.id = a.id)), (SELECT max(t) FROM t AS o WHERE o.id = a.id) + INTERVAL 1 MONTH, round((SELECT max(f) FROM t AS o WHERE o.id = a.id), 1), formatDateTime((SELECT max(t) FROM t AS o WHERE o.id = a.id), '%Y') FROM t AS a ORDER BY id;
SELECT arrayCount(x -> x = 1, [(SELECT 1), id]), arrayStringConcat([(SELECT 'a'), s]) FROM t ORDER BY id;
SELECT sum(arrayCount(x -> x = 1, [(SELECT 1), id])), any(toString([(SELECT 1)])) FROM t;
SELECT arrayCount(x -> x = 1, [(SELECT 1), max(id)]) FROM t;
SELECT id FROM t WHERE arrayCount(x -> x = 3, [(SELECT 3), id]) > 1 ORDER BY id;
SELECT id, count() FROM t GROUP BY id HAVING arrayCount(x -> x = 3, [(SELECT 3), id]) > 1 ORDER BY id;
SELECT id FROM t ORDER BY arrayCount(x -> x = 3, [(SELECT 3), id]), id;
SELECT id, (SELECT max(arrayCount(x -> x = 3, [(SELECT 3), o.id])) FROM t AS o WHERE o.id = a.id) FROM t AS a ORDER BY id;
SELECT map('a', (SELECT 1))['a'], mapValues(map('a', (SELECT 1)));
SELECT mapApply((k, v) -> (k, v + 1), map('a', (SELECT 1)));
