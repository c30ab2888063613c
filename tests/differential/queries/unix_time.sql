-- Current time and Unix time.
SELECT now() > toDateTime('2024-01-01 00:00:00'), today() >= toDate('2024-01-01'), yesterday() = today() - 1, now64() > now() - 5, toDate(now()) = today(), toTypeName(now()), toTypeName(now64(6));
SELECT id, fromUnixTimestamp64Milli(i64), toUnixTimestamp64Milli(t3), toUnixTimestamp64Micro(t3), toUnixTimestamp(t), toUnixTimestamp64Second(t3) FROM t WHERE id > 2;
SELECT toUnixTimestamp64Milli(t) FROM t;
SELECT x, toUnixTimestamp(x) FROM (SELECT toDateTime64(arrayJoin(['1969-12-31 23:59:59.999', '1970-01-01 00:00:00.001', '2106-02-07 06:28:15.9']), 3) AS x);
SELECT toUnixTimestamp(fromUnixTimestamp64Nano(toInt64(-7))), toUnixTimestamp(fromUnixTimestamp64Micro(toInt64(-1)));
SELECT toUnixTimestamp(toDateTime64('1969-12-31 23:59:58.999', 3));
SELECT toUnixTimestamp(toDateTime64('2106-02-07 06:28:16', 3));
SELECT toUnixTimestamp(fromUnixTimestamp64Nano(toInt64(-1000000000)));
SELECT fromUnixTimestamp(x, '%Y-%m-%d %H:%i:%S %j'), fromUnixTimestampInJodaSyntax(x, 'yyyy y D HH:mm:ss') FROM (SELECT arrayJoin([-62167219201, -62167219200, -62135596801, -62135596800, toInt64(253402300799), toInt64(253402300800), toInt64('-9223372036854775808')]) AS x);
SELECT bitNot(toUnixTimestamp64Second(t3)), 1000000007 % toUnixTimestamp64Milli(t3), bitNot(toInt64(t3)), 1000000007 % CAST(t3 AS Int64), intDiv(10000000000, toInt64(t3)), intDiv(1000, toWeek(d)), 1000 % toWeek(d) FROM t WHERE t3 > '1980-01-01 00:00:00' AND toWeek(d) > 0;
