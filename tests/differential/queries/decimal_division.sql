-- Division and remainder of Decimals, of 38 digits too; integers that are wider than the Decimal keep their lowest bits.
SELECT sum(x) / count() AS a, sum(x) / toDecimal32(2, 1) AS b, sum(x) / toDecimal64(-0.07, 2) AS c, sumIf(x, x > 2) / sum(x) AS d, sum(x) % 7 AS e, sum(x) % count() AS f FROM (SELECT arrayJoin([toDecimal64(7.55, 2), toDecimal64(1.20, 2)]) AS x);
SELECT toDecimal64(10, 2) / toDecimal128(3, 1) AS a, toDecimal128(10, 2) / toDecimal128(3, 2) AS b, toDecimal128('99999999999999999999.99', 2) / toDecimal64(0.07, 2) AS c, toDecimal128('-1234567890123456.789012', 6) / toDecimal64('0.000007', 6) AS d, CAST('7.5' AS Decimal(10, 3)) / CAST('0.77' AS Decimal(25, 2)) AS e;
SELECT toDecimal64(7.5, 2) % 2 AS a, toDecimal64(-7.53, 2) % toDecimal32(2, 1) AS b, 7 % toDecimal32(2.5, 1) AS c, toDecimal128('12345678901234567890.123456', 6) % toDecimal128('-0.7', 1) AS d, toDecimal64('0.123456789012345678', 18) % 7 AS e, toDecimal64(7.53, 2) % toFloat64(2) AS f, toDecimal64(7.53, 2) % true AS g;
SELECT toDecimal64(7.5, 2) % toNullable(2) AS a, toDecimal64(number, 2) % (number + 1) AS b, toDecimal64(7.53, 2) % toDecimal64(number + 1, 2) AS c FROM numbers(4) ORDER BY number;
SELECT toDecimal32(1234567.12, 2) % toInt64(9223372036854775807 - number * 2147483647) AS a, toDecimal32(1234567.12, 2) / toInt64(4294967298 + number) AS b, toDecimal64(1234567.12, 2) / toUInt64(18446744073709551615 - number) AS c, toInt64(4294967298 + number) / toDecimal32(12345.12, 2) AS d FROM numbers(5) ORDER BY number;
SELECT toDecimal64(7.5, 2) % toDecimal32(2, 3);
SELECT toDecimal64(7.5, 2) % 0;
SELECT toDecimal128(10, 2) / toDecimal32(0, 2);
SELECT a * a, a * b, b * a, a + c, a - c, c + c, c * 3, c - toUInt64(3), c * b FROM (SELECT toDecimal128(arrayJoin(['1.000001', '-123456789.123456', '0.1']), 6) AS a, toDecimal64('2.0001', 4) AS b, toDecimal128('3.000000000001', 12) AS c);
SELECT sum(a) + sum(a), sum(a) - sum(b), sum(a) * sum(b), sum(a) * 2, sum(b) * c FROM (SELECT arrayJoin([toDecimal64('1.00000001', 8), toDecimal64('-2.12345678', 8)]) AS a, toDecimal64('3.3333', 4) AS b, toDecimal32(2.5, 1) AS c) GROUP BY c;

-- Whole quotients of Decimals.
SELECT id, intDiv(dec, 2), intDiv(dec, i8 * 2 + 1), intDiv(dec, toDecimal32(1.5, 1)), intDiv(i32, toDecimal64(2.5, 1)), intDiv(u8, toDecimal32(2.5, 1)), intDivOrZero(dec, i8), intDivOrZero(dec, 0), intDivOrZero(toDecimal32(7.5, 1), ni), dec DIV 3, intDiv(toNullable(dec), 7), intDiv(dec, 0.7), intDiv(nf, dec + 100), intDiv(f32, dec + 100), intDivOrZero(dec, f32), intDiv(dec, toFloat32(0.7)) FROM t ORDER BY id;
SELECT id, intDiv(i64, toDecimal64(2.5, 1)), intDiv(toDecimal32(7.59, 3), toDecimal64(1.27, 2)), intDiv(dec, 4294967295 + id) FROM t ORDER BY id;
SELECT intDiv(dec, 0) FROM t;
SELECT intDiv(i8, toDecimal32(0.01, 2)) FROM t;
SELECT intDiv(toDecimal32(1, 2), toDecimal32(1, 3));
SELECT id, arrayAvg(arrayMap(x -> toDecimal64(x, 2) / 7, arr)), arrayAvg([dec, dec / 3]), arrayAvg(x -> x * 2, [dec, 1]), arrayAvg(CAST([], 'Array(Decimal(9, 2))')), arrayAvg([toDecimal128(dec, 6) / 7]) FROM t ORDER BY id;
