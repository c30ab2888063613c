-- Tuples as vectors: norms, distances and products of their elements, each by the operator that ClickHouse takes.
SELECT L1Norm((1, -2)), toTypeName(L1Norm((1, -2))), L2Norm((3, 4)), LinfNorm((1, -2)), L2SquaredNorm((3, 4)), toTypeName(L2SquaredNorm((3, 4))), LpNorm((3, 4), 2), LpNorm((3, 4), 1), LpNorm((3, 4), 2.5);
SELECT L1Norm((1.5, -2)), L1Norm((toInt64(1), toUInt8(2), 3)), toTypeName(L1Norm((toInt64(1), toUInt8(2), 3))), L1Norm((1,)), toTypeName(L1Norm((1,))), LinfNorm((-1,)), toTypeName(LinfNorm((-1,))), L2Norm((-2,)), L2SquaredNorm((toFloat32(1.1), 2)), toTypeName(L2SquaredNorm((toFloat32(1.1), toFloat32(2)))), toTypeName(L1Norm((toFloat32(1.1), toFloat32(2)))), toTypeName(L1Norm((toFloat32(1.1), 2)));
SELECT L1Distance((1, 2), (2, 4)), toTypeName(L1Distance((1, 2), (2, 4))), L2Distance((0, 0), (3, 4)), LinfDistance((1, 2), (4, 4)), L2SquaredDistance((1, 2), (4, 4)), toTypeName(L2SquaredDistance((1, 2), (4, 4))), LpDistance((1, 2), (4, 4), 3), cosineDistance((1, 0), (0, 1)), cosineDistance((1, 2, 3), (4, 5, 6));
SELECT L1Normalize((1, 3)), L2Normalize((3, 4)), LinfNormalize((1, 4)), LpNormalize((3, 4), 3), normalizeL2((3., 4.)), normL1((1, 2)), distanceL2((0, 0), (3, 4)), normL2([3, 4]), distanceLinf([1, 2], [4, 4]), normL2Squared((1, 2)), distanceL2Squared((1, 2), (2, 3)), normLp((1, 2), 2), normLinf((1, 2)), distanceLp([1, 2], [2, 3], 2);
SELECT L1Norm((toDecimal32(-1.5, 2), 1)), L1Distance((toDecimal32(1.5, 2), 1), (1, 1));
SELECT L2Norm((toDecimal32(1.5, 2), 1));
SELECT L2Norm((toUInt64(18446744073709551615), 1)), L2SquaredNorm((toInt64(4294967296), 1)), L1Norm((toUInt8(255), toUInt8(255))), L2Norm((toUInt8(255), toUInt8(255))), L1Norm((toInt8(-128), 0));
SELECT cosineDistance((0, 0), (1, 1)), cosineDistance((1, 1), (0, 0)), L2Normalize((0, 0)), dotProduct([1, 2], [3, 4]), scalarProduct([1., 2.], [3., 4.]), toTypeName(dotProduct([1, 2], [3, 4])), dotProduct((1, 2), (3, 4));
SELECT LpNorm((3, 4), 0.5);
SELECT L2Norm(('a', 1));
SELECT L1Norm((toDate('2020-01-01'), 1));
SELECT cosineDistance((1, 2), (1, 2, 3));
SELECT L2Distance((1, 2), [1, 2]);
SELECT dotProduct([1, 2], (3, 4));
SELECT a, L2Distance((a, b), (c, d)), L2Norm((a, b)), cosineDistance((a, b), (c, d)), L1Norm((b, c)), LinfNorm((a, b, c)), LinfDistance((a, b), (c, d)), L2Normalize((a, d)), L1Distance((a, c), (d, c)) FROM (SELECT id AS a, f AS b, i32 AS c, u8 AS d FROM t) ORDER BY a;
SELECT id, L2Norm((i64, u8)), L1Norm((i64, i8)), L2SquaredNorm((u64, u8)), L1Norm((f32, u8)), LinfNorm((i64, f)), L2SquaredNorm((i8, i8)), L1Distance((i64, u64), (u8, i8)), L2Norm((f32, f32)), cosineDistance((f32, f32), (f, f)) FROM t ORDER BY id;

-- Tuples under operators.
SELECT (1, 2) + (3, 4), (1, 2) - (3, 4), (1, 2) * 3, 3 * (1, 2), (4, 2) / 2, (1, 2) % 2, intDiv((4, 5), 2), (1, 2) * (3, 4), toTypeName((1, 2) + (3, 4)), toTypeName((1, 2) * (3, 4)), plus((1, 2), (3, 4)), minus((1., 2), (3, 4)), multiply((1, 2), 2), divide((1, 2), 2), modulo((1, 2), 2);
SELECT (1, toDate('2024-01-01')) + (1, 1), (1, (1, 2)) + (1, (2, 3)), (toNullable(1), 2) + (1, 2);
SELECT id, (id, f) + (u8, i32), (id, f) * u8, (id, i64) * (u8, i32), (i64, ni) - (1, 2), (id, u8) / 2 FROM t ORDER BY id;
SELECT (1, 2) / (3, 4);
SELECT 2 / (3, 4);
SELECT (1, 2) % (3, 4);
SELECT (1, 2) + 1;
SELECT 1 - (1, 2);
SELECT (1, 2) + (1, 2, 3);
SELECT sum(x) FROM (SELECT (1, 2) AS x);
