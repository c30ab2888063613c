-- Texts of floats: the fewest digits that tell a Float64 or Float32 from its neighbours.
SELECT toString(1e16/3), toString(1e15), toString(5e-324), toString(1e21), toString(123456789012345680.), toString(1/3), toString(2e-3), toString(1e-6), toString(1e-7), toString(1e20/3), toString(1.7976931348623157e308), toString(2.2250738585072014e-308), toString(-0.), toString(nan), toString(-inf);
SELECT x, toString(x), concat('a', x), format('{}', x), toJSONString(x), CAST(x AS String), x || '', concat_ws(',', x, 'b') FROM (SELECT arrayJoin([2e-44, 1e23, 2.0e-3, 4.9e-324, 9007199254740993., 1e22, 1.0e-5, 123456.789e12, 2e16, 8.41e21, 2.2e-322, 1e-323, 1.5e-323, -3e-323, 2.98023223876953125E-8, 3333333333333333.5, 99.5]) AS x);
SELECT toString(number * 1e15 / 7), toString(toFloat32(number / 7)), toString(toFloat32(number * 1e15)) FROM numbers(50);
SELECT toString((number + 1) / 7 * pow(10, number % 23)), toString(toFloat32((number + 1) / 7 * pow(2, toInt32(number) - 100))) FROM numbers(200);
SELECT toJSONString([1e16/3, 5e-324]), toJSONString(map('a', 1e16/3)), toJSONString((1e16/3, toFloat32(0.1))), arrayStringConcat([1e16/3, 2]), arrayMap(x -> toString(x), [1e16/3, 1e21, 5e-324]);
SELECT groupConcat(',')(toString(x)), toString(sum(x)), toString(avg(x)), toString(quantile(0.3)(x)), toString(any(toFloat32(x))) FROM (SELECT number * 1e15 / 7 AS x FROM numbers(3));
SELECT toString(toNullable(1e16/3)), toString(NULL::Nullable(Float64)), toString(nf), toString(f32), length(toString(f)), CAST([toFloat32(0.00001)] AS Array(String)), map(toString(f32), 1) FROM t;
SELECT x, toFloat64(x), toString(x), concat('', x), toJSONString(x), toJSONString([x]) FROM (SELECT toFloat32(arrayJoin([0.00001, 1e-7, 123456789, 1e15, 1e16, 1e21, 3.3e-5, 0.3, 2e-3, 1e-45, 3e-45, -7e-45, 1.17549435e-38, 3e20, 16777217, nan, -inf])) AS x) ORDER BY x;

-- So many digits of the number as it is in truth: 2.675 is a little less.
SELECT toDecimalString(3.14159, 2), toDecimalString(0.5, 0), toDecimalString(1.5, 0), toDecimalString(2.675, 2), toDecimalString(-0.001, 2), toDecimalString(-0., 1), toDecimalString(toFloat32(0.1), 12), toDecimalString(nan, 2), toDecimalString(-inf, 2), toDecimalString(1e22, 3), toDecimalString(0.1, 55), toDecimalString(5e-324, 60), toDecimalString(1.7e59, 1), toDecimalString(2.5, 0), toDecimalString(0.05, 1), toDecimalString(0.25, 1), toDecimalString(1.005, 2), toDecimalString(1e-10, 5), toDecimalString(123456789.987654321, 6), toDecimalString(toNullable(0.5), 2), toDecimalString(nullIf(0.5, 0.5), 2);
SELECT toDecimalString(1e60, 1);
SELECT toDecimalString(0.1, 61);
SELECT id, toDecimalString(f, 3), toDecimalString(f32, 2), toDecimalString(nf, 1) FROM t ORDER BY id;

-- More digits than a decimal of Spark has.
SELECT toDecimalString(toDecimal64(1.5, 2), 77), toDecimalString(7, 40), toDecimalString(toUInt64(18446744073709551615), 77), toDecimalString(toDecimal128('12345678901234567890.123456789', 9), 30), toDecimalString(toDecimal128('1.5', 30), 40), toDecimalString(true, 2), toDecimalString(toDecimal128('1.5', 37), 37), toDecimalString(toDecimal128('123', 0), 5);
SELECT id, toDecimalString(u64, 50), toDecimalString(i64, 20), toDecimalString(dec, 60), toDecimalString(ni, 77) FROM t ORDER BY id;
SELECT toDecimalString(1, 78);
