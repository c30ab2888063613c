-- Literals beyond 32 bits as seconds and as places in arrays; arrays of several types joined by concat.
SELECT fromUnixTimestamp(5000000000), toDateTime(5000000000), FROM_UNIXTIME(4294967296), fromUnixTimestamp(-5), fromUnixTimestamp(4294967295);
SELECT arraySlice([1, 2], 5000000000), arraySlice([1, 2], 1, 5000000000), arraySlice([1, 2], -5000000000), arraySlice([1, 2], -5000000000, 5000000001), arraySlice(arr, 2, 5000000000), arraySlice(arr, 2, 2147483647), arraySlice(arr, -5, 2147483647) FROM t ORDER BY id;
SELECT concat([1], [300]), concat([1], [-1]), concat(['a'], ['b']), concat([1], [1.5]), concat([toUInt8(1)], [toNullable(toUInt8(1))]);
SELECT arr || [100000000000], concat(arr, [1], [2]) FROM t ORDER BY id;
SELECT concatAssumeInjective('a', 'b', 1), concatAssumeInjective(s, id) FROM t ORDER BY id;
SELECT concatAssumeInjective(map('a', 1));
SELECT concat([1], ['a']);
