-- A NULL has no place in a type that is not Nullable.
SELECT toInt32OrDefault(ni), toTypeName(toInt32OrDefault(ni)) FROM t;
SELECT toInt32OrDefault(ns, toInt32(7)) FROM t;
SELECT accurateCastOrDefault(ni, 'Int32') FROM t;
SELECT accurateCastOrDefault(ni, 'Int32', toInt32(9)), accurateCastOrDefault(ns, 'Int32', toInt32(9)) FROM t;
SELECT accurateCastOrDefault(ni, 'Nullable(Int32)') FROM t;
SELECT CAST((ni, 1) AS Tuple(Int32, Int32)) FROM t;
SELECT CAST([ni] AS Array(Int32)) FROM t;
SELECT CAST([ni] AS Array(Int64)) FROM t WHERE ni IS NOT NULL;
SELECT CAST([ni] AS Array(Nullable(String))) FROM t;
SELECT CAST(ni, 'Nullable(String)') FROM t;
SELECT CAST(ns AS UUID) FROM t WHERE ns IS NULL;
SELECT ns::Date FROM none;
SELECT CAST(if(u8 > 500, ni, NULL) AS String) FROM t WHERE ni IS NOT NULL;
SELECT CAST(materialize(NULL) AS Int32);
SELECT CAST(ni AS Bool) FROM t WHERE ni IS NOT NULL;
SELECT CAST(ni AS Enum8('a' = 5, 'b' = 7, 'c' = -5)) FROM t WHERE ni IS NOT NULL;
SELECT if(isNull(ni), 0, CAST(ni AS Int32)) FROM t;
SELECT ifNull(CAST(ni AS Int32), 0) FROM t;
SELECT toBool(ni), toDate(nt), toDateTime(nt), toUInt8(ni), toDecimal32(nf, 2), toFixedString(ns, 3), toUUIDOrNull(ns), toIPv4OrNull(ns), toFloat32(nf), toString(nt) FROM t;
SELECT ns::LowCardinality(Nullable(String)) FROM t;
SELECT accurateCast(ns, 'Nullable(String)') FROM t;
SELECT CAST((ni, 1) AS Tuple(Int32, String)) FROM t WHERE ni IS NOT NULL;
SELECT CAST(((ni, u8), 1) AS Tuple(Tuple(String, String), String)) FROM t WHERE ni IS NOT NULL;
SELECT CAST(ni AS Int32) FROM t WHERE ni IS NOT NULL;
SELECT CAST(ni AS Int32) FROM t;
SELECT ni::Int64 AS x, toTypeName(x) FROM t WHERE ni IS NOT NULL;
SELECT CAST(NULL AS Int32);
SELECT accurateCast(ni, 'Int32') FROM t;
-- A FixedString that may be NULL and is no value of the type.
SELECT x, toInt32(x), toUInt8(x), toFloat64(x), toDate(x), toUUID(x), toIPv4(x) FROM (SELECT toNullable(toFixedString(arrayJoin(['123', 'x', '', '300', '1.5', '2020-01-02', '1.2.3.4']), 12)) AS x);
SELECT toDateTime(toNullable(toFixedString(materialize('x'), 1)));
SELECT toBool(toNullable(toFixedString(materialize('x'), 1)));
SELECT toDateTime64(toNullable(toFixedString(materialize('x'), 1)), 3);
-- The number of an Enum that is out of the range wraps around.
SELECT toUInt64OrDefault(e), toUInt8OrDefault(e), toInt8OrDefault(e) FROM (SELECT CAST(arrayJoin(['a', 'b', 'c']) AS Enum16('a' = -1, 'b' = 300, 'c' = 7)) AS e);

-- NULL and truths in the text of an array, and commas behind the last element.
SELECT '[1, NULL]'::Array(Nullable(Int8)), '[1, null ]'::Array(Nullable(Int8)), '[NULL]'::Array(Nullable(String)), '(1, NULL)'::Tuple(Int8, Nullable(String)), '(1,)'::Tuple(Int8), '[1,2,]'::Array(Int8), '[true, false]'::Array(Bool), '[1, 0]'::Array(Bool), '[NULL, ''NULL'']'::Array(Nullable(String)), '[[NULL],[1,],]'::Array(Array(Nullable(Int8)));
SELECT '(1,2,)'::Tuple(Int8, Int8);
SELECT '[1 2]'::Array(Int8);
SELECT '[NULLL]'::Array(Nullable(Int8));

-- Empty arrays as maps, and NULL with a default.
SELECT CAST([] AS Map(String, String)), CAST([] AS Map(String, Array(Int8))), accurateCastOrDefault(NULL, 'Int8'), accurateCastOrDefault(NULL, 'String'), accurateCastOrDefault(NULL, 'Int8', toInt8(5)), accurateCastOrDefault(NULL, 'Date');
