-- Maps and tuples.
SELECT id, mapKeys(m), mapValues(m), mapContains(m, lc), mapContains(m, ns), mapContains(m, NULL), mapContainsKey(m, 'a'), mapContainsValue(m, 1), mapContainsValue(map('a', ni), NULL), mapContainsKeyLike(m, 'a%'), mapContainsValueLike(map('k', s), 'H%'), mapExtractKeyLike(m, '_'), mapExtractValueLike(map('k', s, 'l', lc), '%a%'), length(m), empty(m), notEmpty(m), m['a'], map(1, 'x')[u8], map(u8, 'x')[1], mapContains(map(1, 2), i64), toTypeName(map('a', 1, 'b', 300)) FROM t;
SELECT id, mapFromArrays(['a', 'b'], [u8, 2]), mapFromArrays(mapKeys(m), mapValues(m)), toTypeName(mapFromArrays(['a'], [1])), mapKeys(mapUpdate(map('b', 1, 'a', 1), map('c', 1, 'a', 7))), mapUpdate(m, m), mapUpdate(m, map('a', 7::Int32)), mapConcat(m, map('zzz', 1::Int32)), mapKeys(mapConcat(map('b', 1), map('a', 1), map('c', 2))) FROM t;
SELECT id, mapAdd(m, map('a', i32, 'q', 1)) AS a, mapKeys(a), toTypeName(a), mapAdd(map('a', 255), map('a', u8)), mapSubtract(map('a', u8), map('a', u64)), mapSubtract(map('z', 1), map('b', u8)) AS c, mapKeys(c), mapAdd(map(1, f), map(1, 0.5, 0, 1.5)), mapAdd(m, m, m), toTypeName(mapAdd(map('a', f32), map('a', f32))), mapSubtract(m, map('a', 5::Int8)) FROM (SELECT id, m, i32, u8, u64, f, f32 FROM t WHERE id <> 4);
SELECT id, mapFilter((k, v) -> v > 1, m), mapApply((k, v) -> (concat(k, 'x'), v + u8), m), toTypeName(mapApply((k, v) -> (k, v + 1), map('a', 1))), mapExists((k, v) -> v > 1, m), mapAll((k, v) -> v > 0, m), mapKeys(mapSort(map('b', 1, 'a', 2, lc, 3))) FROM t WHERE lc NOT IN ('a', 'b');
SELECT id, mapKeys(mapSort(map('b', 1, 'a', 2))), mapKeys(mapReverseSort(m)), mapValues(mapSort((k, v) -> -v, map('b', 1, 'a', 2))), mapKeys(mapReverseSort((k, v) -> v, m)), mapFilter((k, v) -> mapContains(map(k, 1), lc), m), arrayMap(x -> mapFilter((k, v) -> v > x, m), [0, 1]), mapApply((k, v) -> (v, arrayMap(x -> x + v, [1])), map('a', u8)) FROM t;
SELECT id, tupleConcat((1, s), tuple(lc)), toTypeName(tupleConcat((1, 2), ('a', 'b'))), tuplePlus((u8, 2), (3, 4)), toTypeName(tuplePlus((1, 2), (3, 4))), tupleMinus((u8, 2), (3, 4)), tupleMultiply((1, u8), (3, 4)), tupleDivide((1, f), (3, 4)), tupleNegate((u8, f)), toTypeName(tupleNegate((1, 2))), tupleMultiplyByNumber((1, u8), 3), tupleDivideByNumber((1, u8), 4), tupleModulo((5, u8), (3, 4)), tupleIntDiv((5, u8), (3, 4)), tupleModuloByNumber((u8, 7), 4), tupleIntDivByNumber((u8, 7), 2) FROM t WHERE id <> 4;
SELECT id, tupleHammingDistance((1, u8), (1, 3)), toTypeName(tupleHammingDistance((1, 2), (1, 3))), toTypeName(tupleHammingDistance((1, 2, 3), (3, 4, 5))), toTypeName(tupleHammingDistance(tuple(1), tuple(1))), dotProduct((1, u8), (3, 4)), toTypeName(dotProduct((1, 2), (3, 4))), tupleElement((1, s), 3, 'd'), tupleElement((1, s), 2, 'd'), tupleElement((1, s), -1), tupleElement((1, s), 2), tupleNames((1, s)), tupleToNameValuePairs((u8, 2)), tupleElement([(1, s)], 2), tupleElement(CAST((1, u8), 'Tuple(a UInt8, b UInt8)'), 'b'), tupleElement(CAST((1, 2), 'Tuple(a UInt8, b UInt8)'), 'z', 7), tupleNames(CAST((1, 2), 'Tuple(a UInt8, b UInt8)')), tupleToNameValuePairs(CAST((1, 2), 'Tuple(a UInt8, b UInt8)')) FROM t;
SELECT id, (u8, s) < (3, 'b'), (u8, lc) = (1, 'a'), (u8, lc) IN ((1, 'a'), (7, 'c')), (u8, lc) != (1, 'a'), tuple(u8) = tuple(7) FROM t;
SELECT (u8, lc) AS k, count() AS n FROM t GROUP BY k ORDER BY k;
SELECT map(NULL, 1);
SELECT mapApply((k, v) -> v, m) FROM t;
SELECT mapUpdate(map('a', 1), map('a', 300));
SELECT mapAdd(map('a', 1::UInt8), map('a', 1::Int32));
SELECT mapFromArrays(['a'], [1, 2]);
SELECT tuplePlus((1, 2), (1, 2, 3));
SELECT tupleElement((1, 2), 3);
SELECT tupleElement((1, 'a'), 2), tupleElement(tuple(7, 8), 1), (1, (2, 'x')).2.2;
SELECT mapPopulateSeries(map(1, 10, 5, 20)), mapPopulateSeries(map(1, 10, 5, 20), 6), mapPopulateSeries(map(1, 10, 5, 20), 3), toTypeName(mapPopulateSeries(map(1, 10))), mapPopulateSeries(map(5, 1, -2, 3)), mapPopulateSeries(map(1, 10, 5, 20), 0), mapPopulateSeries(map(toInt32(3), toInt64(7)), -1);
SELECT id, mapPopulateSeries(map(i8, u16, i8 + 1, u8)) FROM t ORDER BY id;
SELECT mapPopulateSeries(map('a', 1));
-- A map as an array of tuples.
SELECT x, CAST(m AS Array(Tuple(String, Nullable(Int64)))), CAST(m AS Array(Tuple(k LowCardinality(String), v String))), m::Array(Tuple(String, Float64)) FROM (SELECT id AS x, m FROM t) ORDER BY x;
SELECT CAST(map('1', 1, '2', 3) AS Array(Tuple(UInt8, String))), CAST([map('a', 1)] AS Array(Array(Tuple(String, UInt8)))), CAST(map('a', [1, 2]) AS Array(Tuple(String, Array(String)))), CAST(map('a', map('b', 1)) AS Array(Tuple(String, Array(Tuple(String, Int8)))));
SELECT CAST(map('b', NULL, 'a', 2) AS Array(Tuple(k String, v Nullable(UInt8)))), length(CAST(mapFilter((k, v) -> v > 5, map('a', 1)) AS Array(Tuple(String, UInt8)))), arrayMap(p -> p.1, CAST(map('b', 1, 'a', 2) AS Array(Tuple(String, UInt8))));
SELECT CAST(map('a', 'x') AS Array(Tuple(String, UInt8)));
SELECT CAST(map('a', NULL) AS Array(Tuple(String, UInt8)));
SELECT CAST(map('a', 1) AS Array(Tuple(String, UInt8, UInt8)));
SELECT mapContainsKeyLike(map('a_b', 1), '%\\_%'), mapExtractKeyLike(map('ab', 1, '%', 2), '\\%');

-- A map without pairs.
SELECT CAST(map() AS Map(String, Int8)), toString(map()), length(map()), mapKeys(map());
SELECT if(id > 2, map('a', id), map()), if(id > 2, map(), map('x', [1])), coalesce(map('a', 1), map()) FROM t ORDER BY id;
SELECT map() AS m, toTypeName(map());
SELECT map('a') FROM t;
SELECT map('a', 1, 'b') FROM t;
