-- Lambdas that the compiler makes up, beside tables and columns that have a letter for a name.
SELECT x.id, has([1, 7], x.u8), arraySum(x.arr), arrayAvg(x.arr), arrayStringConcat(x.arr, '-'), arrayDistinct(x.arr), arrayCompact(x.arr) FROM t AS x;
SELECT x0.id, arrayMap(a -> a + x0.u8, x0.arr), arrayMap(a -> arrayMap(a -> arrayMap(b -> a + b, [10]), [1, 2]), x0.arr) FROM t AS x0;
SELECT e.id, CAST(e.arr AS Array(String)), arrayMap((p, q) -> p + q + e.u8, e.arr, e.arr) FROM t AS e;
SELECT s.id, arrayFilter((p, q) -> p < s.u8, s.arr, s.arr), arrayFirst((p, q) -> q < s.u8, s.arr, s.arr) FROM t AS s;
SELECT i.id, arrayMap((p, q) -> p * i.u8, i.arr, i.arr) FROM t AS i;
SELECT l.id, arraySort(k -> -k * l.u8, l.arr), arrayReverseSort(l.arr) FROM t AS l;
SELECT r.id, arrayReverseSort(k -> k * r.i8, r.arr), arraySort((k, j) -> -j, r.arr, r.arr) FROM t AS r;
SELECT n.id, multiSearchAny(n.s, ['Hello', n.lc]), multiSearchFirstIndex(n.s, [n.lc, 'W']) FROM t AS n;
SELECT x, has([1, 7], x) AS h, arrayMap(e -> e + x, arr) AS m FROM (SELECT u8 AS x, arr FROM t);
SELECT v.id, toFloat64OrZero(concat(v.num, '1', v.lc, v.s)) / toFloat64OrZero(concat(v.num, '2', v.lc, v.s)), toFloat64OrZero(concat(v.num, '1')) / toFloat64OrZero(concat(v.num, '2')) FROM t AS v;
SELECT id, toString(toFloat64OrNull(toString(toFloat64OrNull(toString(toFloat64OrNull(toString(f))))))) FROM t;
SELECT toInt64(toFloat64OrZero(toString(toFloat64OrNull(num)))) AS k, count() AS n FROM t GROUP BY k;
SELECT toString(toFloat64OrZero(toString(toFloat64OrNull(num)))) AS k, concat(k, 'x') AS kx, max(u8) AS m FROM t GROUP BY k HAVING k <> '42' ORDER BY k;
SELECT toString(toFloat64OrNull(toString(sum(f32) / count()))) AS a, toString(toFloat64OrNull(toString((SELECT sum(f32) FROM t WHERE id > 1)))) AS b FROM t;
SELECT id, toString(toFloat64OrNull(toString(sum(u8) OVER (PARTITION BY lc ORDER BY id)))) AS a FROM t;
SELECT DISTINCT toString(toFloat64OrNull(toString(toFloat64OrNull(num)))) AS a FROM t ORDER BY a;
SELECT arrayMap(i -> countIf(u8 >= i), [1, 2, 3]) FROM t;
SELECT arrayMap(i -> sum(u8 * i), [1, 2]) FROM t;
SELECT arrayMap((i, j) -> sum(u8 * j), [1, 2], [3, 4]) FROM t;
SELECT arrayMap(u8 -> max(u8), [1, 2]) FROM t;
SELECT arrayMap(i -> i + max(u8), [1, 2]) FROM t;
SELECT arrayMap(i -> max(length(arrayMap(x -> x + 1, arr))) + i, [1, 2]) FROM t;
SELECT arrayMap(i -> arrayCount(n -> n >= i, groupArray(u8)), [1, 2, 3]) FROM t;

-- Choices in lambdas
SELECT id, arrayMap(x -> x > 0 ? 'p' : 'n', arr), arrayFilter(x -> x > 1 ? 1 : 0, arr), arraySort(x -> x = 2 ? 0 : 1, arr), arrayMap((x, i) -> i > 1 ? x : -x, arr, arrayEnumerate(arr)), mapApply((k, v) -> (k, v > 1 ? v : 0), m) FROM t ORDER BY id;
SELECT id, arrayMap(x -> arrayMap(y -> y > x ? 1 : 2, arr), arr), arrayExists(x -> (x > 1 ? 1 : 0) = 1, arr), arrayMap(x -> x > 1 ? (x > 2 ? 'c' : 'b') : 'a', arr) FROM t ORDER BY id;
WITH x -> x > 1 ? 'a' : 'b' AS named SELECT id, arrayMap(named, arr), named(id) FROM t ORDER BY id;
