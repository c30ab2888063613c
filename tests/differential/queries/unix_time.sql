-- Current time and Unix time.
SELECT now() > toDateTime('2024-01-01 00:00:00'), today() >= toDate('2024-01-01'), yesterday() = today() - 1, now64() > now() - 5, toDate(now()) = today(), toTypeName(now()), toTypeName(now64(6));
SELECT id, fromUnixTimestamp64Milli(i64), toUnixTimestamp64Milli(t3), toUnixTimestamp64Micro(t3), toUnixTimestamp(t), toUnixTimestamp64Second(t3) FROM t WHERE id > 2;
SELECT toUnixTimestamp64Milli(t) FROM t;
