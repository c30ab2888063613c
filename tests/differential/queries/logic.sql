-- xor: true for an odd number of true operands.
SELECT xor(i8, u8), xor(f, i8), xor(i8 > 0, u8 > 0, 1), xor(ni, u8), xor(true, i8), toTypeName(xor(ni, 1)), toTypeName(xor(true, false)) FROM t;
SELECT xor(1, NULL) IS NULL, xor(nan, 0), xor('a' = 'a', 0.0, -1);
SELECT xor('a', 1);
SELECT xor(toDecimal32(1, 2), 0);
SELECT xor(1);
SELECT xor(s, 1) FROM t;
SELECT xor(dec, 1) FROM t;
