-- Operators on numbers: decimals, remainders, 64-bit integers, literals.
SELECT i64 = f FROM t;
SELECT -9223372036854775808, toTypeName(-9223372036854775808), -9223372036854775807 - 1;
SELECT id, dec / 3, 3 / dec, dec / dec, dec / u8, dec / 0.5, i64 / dec FROM t WHERE dec != 0 and u8 != 0;
SELECT toDecimal64(1.5, 2) * toDecimal128(2.25, 10), toDecimal32(9.99, 2) + toDecimal32(1, 0), toDecimal32(1, 4) / toDecimal32(3, 2), -toDecimal32(7, 4) / toDecimal32(3, 2), toTypeName(toDecimal32(1, 4) / toDecimal32(3, 2)), toDecimal64(100, 10) / toDecimal32(-3, 2), toDecimal64(100, 2) / 7;
SELECT id, f % 3, f32 % 2, i32 % 2.5, f % 0, f % nf FROM t;
SELECT -128::Int8, -1::UInt8;
SELECT 5 % inf, inf % 2, nan % 2, -7.5 % 2, 7.5 % -2, 1e300 % 7, toFloat32(0.1) % 0.03;
SELECT u8 / 0.5, dec / 0.5 FROM t;
SELECT u64 + u64, u64 * 3, u64 - 1, u64 + i64, i64 - u64 FROM t;
SELECT dec + dec, dec * dec, dec - 1, sum(dec) OVER () FROM t WHERE id <> 4;
-- The sum of decimals divided by a count.
SELECT sum(dec) / count(), sum(dec) / 7, -sum(dec) / 7, sum(dec) / countIf(id > 3), round(sum(dec) / count(), 1) FROM t;
SELECT b, sum(dec) / uniqExact(s), sum(toDecimal64(id, 5)) / -3, sum(dec) / 1000000 FROM t GROUP BY b ORDER BY b;
SELECT toDecimal128('12345678901234567890123456.789', 3) / 7, toDecimal128('-1', 6) / 3, sum(dec) / toUInt64(18446744073709551615) FROM t;
SELECT sum(dec) / (count() - 6) FROM t
