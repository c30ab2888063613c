-- Literals beyond 32 bits as seconds and as places in arrays; arrays of several types joined by concat.
SELECT fromUnixTimestamp(5000000000), toDateTime(5000000000), FROM_UNIXTIME(4294967296), fromUnixTimestamp(-5), fromUnixTimestamp(4294967295);
SELECT arraySlice([1, 2], 5000000000), arraySlice([1, 2], 1, 5000000000), arraySlice([1, 2], -5000000000), arraySlice([1, 2], -5000000000, 5000000001), arraySlice(arr, 2, 5000000000), arraySlice(arr, 2, 2147483647), arraySlice(arr, -5, 2147483647) FROM t ORDER BY id;
SELECT concat([1], [300]), concat([1], [-1]), concat(['a'], ['b']), concat([1], [1.5]), concat([toUInt8(1)], [toNullable(toUInt8(1))]);
SELECT arr || [100000000000], concat(arr, [1], [2]) FROM t ORDER BY id;
SELECT concatAssumeInjective('a', 'b', 1), concatAssumeInjective(s, id) FROM t ORDER BY id;
SELECT concatAssumeInjective(map('a', 1));
SELECT concat([1], ['a']);
SELECT fromDaysSinceYearZero(5000000000), fromDaysSinceYearZero32(5000000000), fromDaysSinceYearZero(4294967296), fromDaysSinceYearZero(0), fromDaysSinceYearZero(719527), fromDaysSinceYearZero32(2147483648);
SELECT fromDaysSinceYearZero(u8), fromDaysSinceYearZero32(u16 + 700000), fromDaysSinceYearZero(u64), fromDaysSinceYearZero32(u64 % 1000 + 739000) FROM t ORDER BY id;
SELECT round(1.5, 32767), round(1.5, -32768), round(toFloat32(1.5), 32767), floor(15, -32768), round(true, 32767), roundBankers(1.5, 5000) FROM t;
SELECT round(dec, 100), round(dec, 32767), round(dec, -100), round(dec, -30), round(dec, -8), round(dec, -9), round(dec, 1), floor(dec, -3), ceil(dec, -3), trunc(dec, -40), roundBankers(dec, -1) FROM t WHERE id != 4 ORDER BY id;
SELECT mapKeys(map([1], 2)), mapValues(map([1], 2)), mapContains(map([1], 2), [1]), toString(map([1], 2)), length(map([1], 2, [3], 4));
SELECT toLowCardinality(toNullable(1)), toLowCardinality(s), toLowCardinality(d), toLowCardinality(t), toLowCardinality(ns), toLowCardinality(b) FROM t ORDER BY id;
