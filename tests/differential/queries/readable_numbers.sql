-- Numbers as readable strings, and common divisors.
SELECT toDecimalString(u64, 2), toDecimalString(dec, 4), toDecimalString(i64, 0), toDecimalString(ni, 3), toDecimalString(i8, 2) FROM t;
SELECT formatReadableSize(u64), formatReadableSize(i64), formatReadableSize(u8), formatReadableSize(ni), formatReadableSize(i32 * 1000), formatReadableSize(1024), formatReadableSize(1048575), formatReadableSize(1536), formatReadableSize(1152921504606846975), formatReadableSize(-1), formatReadableSize(5125), formatReadableSize(1029), formatReadableSize(1034), formatReadableSize(18446744073709551615) FROM t;
SELECT formatReadableTimeDelta(toInt64(v)) FROM (SELECT arrayJoin(['-9223372036854775808', '0', '59', '60', '61', '3600', '3660', '3661', '86400', '86401', '2629746', '2635200', '5270400', '31536000', '31556953', '-31556952', '9007199254740991', '9007199254740992', '9007199254740993', '9223372036854775807', '315569520000', '2629746000']) AS v);
SELECT formatReadableTimeDelta(i64), formatReadableTimeDelta(u8), formatReadableTimeDelta(ni), formatReadableTimeDelta(i8), formatReadableTimeDelta(toInt64(id * 86400 * 40 - 1), 'hours'), formatReadableTimeDelta(i64, 'minutes'), formatReadableTimeDelta(i32 * 100000, 'days'), formatReadableTimeDelta(i32 * 10000000, 'months'), formatReadableTimeDelta(i64, 'seconds'), formatReadableTimeDelta(i64, 'years'), formatReadableTimeDelta(toInt64(9007199254740993), 'hours'), formatReadableTimeDelta(NULL), toTypeName(formatReadableTimeDelta(ni)) FROM t;
SELECT formatReadableQuantity(v), formatReadableDecimalSize(v), formatReadableQuantity(-v) FROM (SELECT arrayJoin([0, 1, 1005, 1015, 1025, 1000, 999, 999999, 999995, 999994, 1005000, 1234567, 1235000000, 1005000000000, 1000005000000000, 1115000000000000, 12345678901234567, 9223372036854775807, 1005000000000000000]) AS v);
SELECT formatReadableQuantity(toInt64(number * 1000003 + pow(number, 5))), formatReadableDecimalSize(number * 5 * 1001) FROM numbers(300);
SELECT formatReadableQuantity(u64), formatReadableQuantity(i8), formatReadableQuantity(ni), formatReadableDecimalSize(u64), formatReadableDecimalSize(i64), formatReadableDecimalSize(ni), formatReadableQuantity(NULL), formatReadableDecimalSize(-1) FROM t;
SELECT gcd(12, 18), gcd(toInt64(-12), 18), gcd(18446744073709551615, 5), gcd(17, toInt8(-1)), gcd(id, 4), gcd(toInt64(id * 6), toInt8(-4)), gcd(i64, 1024), gcd(i8, i32), gcd(u64 + 1, 7), gcd(toInt32(-2147483648), 6), gcd(NULL, 2), gcd(true, 3) FROM t WHERE u64 < 100 AND u64 > 0;
SELECT lcm(4, 6), lcm(toInt8(-4), 6), lcm(toInt8(-128), toInt8(3)), lcm(toInt16(-300), 7), lcm(toInt32(100000), toInt32(99999)), lcm(id, 7), lcm(i32, i8), lcm(id, toUInt32(id + 1)), lcm(NULL, 2), lcm(toInt32(-2147483648), 3), lcm(4294967295, toUInt32(4294967294)) FROM t;
SELECT a, b, gcd(a, b), lcm(a, b) FROM (SELECT toUInt32(intHash64(number)) % 10000 + 1 AS a, toUInt32(intHash64(number + 1000)) % 5000 + 1 AS b FROM numbers(200));
SELECT gcd(832040, 514229), gcd(toUInt64(12200160415121876738), toUInt64(7540113804746346429)), gcd(toInt64(7540113804746346429), toInt64(4660046610375530309)), lcm(toInt32(1836311903), toInt32(1134903170));
SELECT gcd(0, 5);
SELECT lcm(5, 0);
SELECT gcd(u8, 3) FROM t;
SELECT gcd(1.5, 2);
SELECT gcd('a', 2);
SELECT formatReadableQuantity('a');
SELECT formatReadableTimeDelta(5, 'weeks');

-- Floats and Decimals: two digits of exactly that double.
SELECT id, formatReadableSize(f), formatReadableQuantity(f), formatReadableDecimalSize(f), formatReadableTimeDelta(f) FROM t ORDER BY id;
SELECT id, formatReadableSize(nf), formatReadableQuantity(nf), formatReadableTimeDelta(nf), formatReadableSize(f32) FROM t ORDER BY id;
SELECT id, formatReadableSize(dec), formatReadableQuantity(dec * 1000), formatReadableDecimalSize(dec), formatReadableTimeDelta(dec * 100) FROM t ORDER BY id;
SELECT x, formatReadableSize(x), formatReadableQuantity(x), formatReadableDecimalSize(x), formatReadableTimeDelta(x) FROM (SELECT arrayJoin([0.005, 0.015, 1.005, 1023.999, 1023.994, 999.995, 999.9951, 0.994999, 1e18, 1e21, 0.00097, 0.0049999999999999999, -0.001, nan, inf, -inf]) AS x);
SELECT formatReadableSize(avg(u16)), formatReadableQuantity(sum(u16) / count()), formatReadableSize(1.5e24), formatReadableQuantity(1e24) FROM t;
SELECT id, formatReadableTimeDelta(u64), formatReadableTimeDelta(i64), formatReadableTimeDelta(u64, 'hours'), formatReadableTimeDelta(toInt64(9007199254740994) + id) FROM t ORDER BY id;
