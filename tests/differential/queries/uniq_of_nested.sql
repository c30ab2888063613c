SELECT id, uniqExact(x), uniq(x), uniqCombined(x), uniqHLL12(x), uniq(x, x), uniqIf(x, 1), finalizeAggregation(uniqState(x)) FROM (SELECT 1 AS id, arrayJoin([[NULL], [NULL, NULL], ['a'], [], ['a', NULL], [NULL, 'a']]) AS x) GROUP BY id;
SELECT uniq(x), uniqExact(x) FROM (SELECT arrayJoin([[[1], []], [[], [1]], [[1]], [[1, 2]], [[1], [2]]]) AS x);
SELECT uniq(x), uniqExact(x), uniq(x.1, x.2), uniq(x.1, toUInt8(1), x.2) FROM (SELECT arrayJoin([([1, 2], [3]), ([1], [2, 3]), ([], [1, 2, 3])]) AS x);
SELECT uniq(x), uniqExact(x) FROM (SELECT arrayJoin([(NULL, 'a'), ('a', NULL), (NULL, NULL), ('a', 'a')]) AS x);
SELECT uniq(arr), uniq(sarr), uniq((ns, arr)), uniq([nf]), uniq([[ni]]), uniqExact([[ni]]), uniq(arr, sarr) FROM t;
