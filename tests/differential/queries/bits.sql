-- Bit operations.
SELECT bitAnd(u64, u64), bitOr(u64, i64), bitXor(u64, 1), bitAnd(i64, -1), bitNot(u8), bitNot(i32), bitNot(u64), bitAnd(i8, u64), bitOr(u8, i8), bitXor(i64, u64), bitAnd(u8, 300), bitNot(ni), bitAnd(b, u8) FROM t;
SELECT bitRotateLeft(u8, 3), bitRotateRight(u16, 3), bitRotateLeft(i32, 5), bitRotateLeft(u64, 3), bitRotateLeft(i8, 1), bitRotateRight(u64, 1), bitRotateLeft(u8, 11), bitRotateRight(i64, 7) FROM t;
SELECT bitTest(u8, 1), bitTestAll(u8, 0, 1), bitTestAny(u8, 1, 2), bitCount(u8), bitCount(i8), bitCount(u64), bitCount(i64), bitCount(i32), bitHammingDistance(u8, u16), bitHammingDistance(i32, i32), bitTest(i32, 3), bitTest(u64, 63), bitTestAll(i32, 0, 1, 3), bitTestAny(u16, 4, 5) FROM t;
SELECT bitTest(u8, 20) FROM t;
SELECT bitShiftLeft(u8, -1) FROM t;
SELECT bitHammingDistance(toInt8(-1), toInt8(1)), bitNot(toInt64('-9223372036854775808')), bitShiftLeft(toInt64(1), 63), bitNot(-1);

-- The bits that are 1, as numbers, places and a text.
SELECT bitmaskToList(7), bitmaskToList(0), bitmaskToList(toInt8(-1)), bitmaskToList(toUInt64(18446744073709551615)), bitmaskToArray(7), bitmaskToArray(toInt8(-128)), bitPositionsToArray(9), bitmaskToArray(0), bitPositionsToArray(toInt8(-1)), bitmaskToList(toInt64(-9223372036854775808)), bitmaskToList(toNullable(5));
SELECT id, bitmaskToList(u64), bitmaskToArray(u64), bitPositionsToArray(i64), bitmaskToArray(i32), bitmaskToList(ni), bitmaskToList(u16), bitmaskToArray(i8) FROM t ORDER BY id;
SELECT bitmaskToList(1.5);
