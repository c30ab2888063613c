SELECT id, u8 / 0 AS inf, intDiv(i32, 2) AS half, i32 % 3 AS rest FROM t ORDER BY id
