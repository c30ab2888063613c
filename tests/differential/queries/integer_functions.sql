-- Integer division, remainders, powers, factorials and digits.
SELECT id, intDivOrZero(i32, u8), moduloOrZero(i32, u8), positiveModulo(i32, 3), positive_modulo(i32, 3), pmod(i8, 7), intDivOrNull(i32, u8), moduloOrNull(i32, u8), divideOrNull(i32, u8), positiveModuloOrNull(i32, u8), intDivOrZero(ni, 0), intDivOrZero(u64, i8), moduloOrZero(ni, u8), positiveModulo(i64, 1000), intDivOrZero(i8, -1) FROM t;
SELECT intExp2(3), intExp10(3), intExp2(u8), intExp10(u8), intExp2(i8), intExp10(19), intExp10(20), intExp2(63), intExp2(64), max2(u8, i8), min2(u8, 3), negate(u8), negate(i32), negate(f), negate(dec), -i8, -ni, degrees(f), radians(f), abs(b), abs(i8) FROM t;
SELECT id, intDiv(u64, i8), u64 % i8, i64 % u8 FROM t WHERE u8 > 0;
SELECT intDivOrZero(u64, i8) FROM t;
SELECT id, intDiv(i32, -2), intDiv(i8, u8 + 1), intDiv(u8, i8), intDiv(u64, 7), i32 % -2, i8 % (u8 + 1), u8 % i8, u64 % 7 FROM t;
SELECT intDiv(f, 2) FROM t;
SELECT intDiv(1000, -3), intDiv(toInt32(1000), 200), intDiv(toInt8(100), 200), intDiv(toUInt8(200), toInt8(3)), intDiv(toUInt8(200), toInt16(3)), intDivOrZero(toUInt8(200), toInt8(3)), intDiv(toUInt32(4000000000), -7), intDiv(id, -2), intDiv(b, -1), intDiv(u16, i8 - 1) FROM t;
SELECT intDivOrZero(s, 1) FROM t;
SELECT factorial(0), factorial(20), factorial(-3), factorial(u8), factorial(ni) FROM t WHERE u8 < 20;
SELECT factorial(21);
SELECT id, countDigits(u8), countDigits(i32), countDigits(u64), countDigits(i64), countDigits(dec), countDigits(ni), countDigits(toDecimal32(1.25, 3)), countDigits(toDecimal32(0, 3)), countDigits(toInt64(-9223372036854775808)), sqr(i8), sqr(u8), sqr(f), sqr(toDecimal32(i8, 1)), sqr(ni), sqr(f32), sqr(i64), sqr(u64), toTypeName(sqr(i8)), toTypeName(sqr(toDecimal64(i8, 1))), toTypeName(sqr(f32)), xor(u8, i32), xor(b, u8 = 1), xor(ni, u8), xor(f, 0), xor(1, 1, 1), xor(NULL, 1), xor(nf, b), toTypeName(xor(ni, 1)) FROM t ORDER BY id;
SELECT countDigits(f) FROM t;
SELECT countDigits(toDecimal64(-12.5, 4)), countDigits(toDecimal128('0.001', 3)), countDigits(toDecimal128('123456789012345678901234567890', 5)), widthBucket(3.0000000000000004, 0, 10, 10), widthBucket(0.3, 0, 1, 10), widthBucket(0.7, 0, 1, 10), widthBucket(inf, 0, 1, 10), widthBucket(toUInt64(18446744073709551615), 0, 1, 4294967294), sqr(toDecimal128(1.5, 2)), sqr(toUInt8(255)), sqr(toInt32(-2147483648));
SELECT negate(2), negate(200), negate(-2), -2, -(2), negate(1.5), negate(toUInt8(2)), negate(70000), -(-2), negate(true), toTypeName(negate(2)), toTypeName(-2), negate(5000000000), negate(9223372036854775808), [negate(2), 1], negate(0);
