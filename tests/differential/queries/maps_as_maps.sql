-- A map as another one: its values, its keys, both.
SELECT CAST(m AS Map(String, String)), CAST(m AS Map(String, Float64)), CAST(m AS Map(String, Nullable(Int64))), m::Map(FixedString(3), Int16), CAST(m AS Map(LowCardinality(String), UInt8)) FROM t ORDER BY id;
SELECT CAST(map('1', '2', '3', '4') AS Map(UInt8, Int32)), CAST(map(1, 2.5) AS Map(String, Int32)), CAST(map('a', [1, 2]) AS Map(String, Array(String))), CAST(map('a', '2024-01-01') AS Map(String, Date)), CAST(map('a', (1, 'x')) AS Map(String, Tuple(String, String))), CAST(map(toDate('2024-01-01'), 1) AS Map(String, UInt8)), CAST(map() AS Map(String, UInt8));
SELECT mapConcat(CAST(m AS Map(String, Int64)), CAST(map('q', 1) AS Map(String, Int64))), mapKeys(CAST(m AS Map(String, String))), CAST(m AS Map(String, String))['a'] FROM t ORDER BY id;
SELECT CAST(map('a', NULL) AS Map(String, Int8));
SELECT CAST(map('a', 'x') AS Map(String, Int8));
SELECT CAST(map('a', NULL, 'b', 1) AS Map(String, Nullable(String)));
SELECT CAST(map(1, 2) AS Map(Nullable(String), Int8));
SELECT accurateCastOrNull(map('1', 2), 'Map(UInt8, Int8)');
