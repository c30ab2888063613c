-- Numbers of objects and arrays whose text is given: the fewest digits, an exponent as ClickHouse writes it, long integers as strings.
SELECT JSONExtractRaw('{"a": {"z": 1.0E30, "b": 2}}', 'a'), JSONExtractString('{"a": {"z": 1e3, "b": 2}}', 'a'), JSONExtract('{"a": {"z": 1.5e-7, "b": 2}}', 'a', 'String');
SELECT JSONExtractRaw('{"a": {"z": 1.50, "y": 0.1, "x": 1e21, "w": 1e20, "v": 0.000001, "u": 0.0000001, "t": 2.0, "s": 123456789.123456789}}', 'a');
SELECT JSONExtractRaw('{"a": [18446744073709551615, 18446744073709551616, -9223372036854775808, -9223372036854775809, 9223372036854775808, 123456789012345678901234567890]}', 'a');
SELECT JSONExtractRaw('{"a": {"1.0E5": "1.0E5", "k\\"1.50": "x 2.0, 3.0", "n": [1.0, {"m": 7.0}], "": -1.50}}', 'a'), JSONExtractRaw('{"a": [-0.0, 0.0, -0, 0, 5e-324, 1.7976931348623157e308]}', 'a');
SELECT JSONExtractArrayRaw('[{"z":1e3,"a":1.50}, [1E2], 1e2, "1.0E3"]'), JSONExtractKeysAndValues('{"q":{"z":1e3,"a":1.50}, "r": 1.50}', 'String'), JSONExtract('{"q":[{"z":1e3,"a":1.50}]}', 'q', 'Array(String)'), JSONExtract('{"q":{"w": {"z":1e3,"a":1.50}}}', 'q', 'Map(String, String)');
SELECT JSONExtractRaw('{"a": [3.3333333333333335, 0.30000000000000004, 1234567890123456.7, 12345678901234567.8]}', 'a'), JSONExtractRaw('{"a": 0.1, "b": 1e5}'), JSONExtractString('[1e5, 1.0]');
SELECT JSONExtractRaw(js, 'c'), JSONExtractRaw(js), JSONExtractString(js, 'c') FROM t;
