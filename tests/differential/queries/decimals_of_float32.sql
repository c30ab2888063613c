-- A Float32 is multiplied by a power of ten as a Float32, as ClickHouse does: 0.19 is 0.190, not 0.189.
SELECT x, toDecimal32(x, 1), toDecimal32(x, 2), toDecimal32(x, 3), toDecimal64(x, 4), toDecimal64(x, 8), toDecimal128(x, 3), toDecimal128(x, 12), CAST(x AS Decimal(18, 5)), toDecimal64OrNull(toString(x), 3), x::Decimal(9, 2) FROM (SELECT toFloat32(arrayJoin([0.19, 0.07, 0.001, 2.5, -0.1, -1.25, 3.75, 100.5, 0.29, 0.57, 1.005, 4.35, -2.3, 1234.567, 0])) AS x);
SELECT sum(toDecimal64(f32, 4)) FROM t GROUP BY f32;
SELECT toDecimal32(toNullable(f32), 3), toDecimal32(f, 3), toDecimal64([f32, 0.19][1], 3), CAST([f32], 'Array(Decimal(9, 3))'), arrayMap(v -> toDecimal32(v, 3), [f32, toFloat32(0.19)]) FROM t WHERE abs(f) < 100000;
SELECT transform(f32, [toFloat32(0.1)], ['a'], 'b'), dec = toDecimal64(f32, 2), dec * toDecimal64(f32, 1), f32 = toDecimal32(0.1, 1) FROM t;
