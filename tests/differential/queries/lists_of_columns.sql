-- IN over a list that reads columns: a NULL in it is no match, and the result is Nullable.
SELECT id, i32 IN (1, ni, 7), i32 NOT IN (1, ni, 7), toTypeName(i32 IN (1, ni)) FROM t ORDER BY id;
SELECT id, ni IN (u8, i8), ni NOT IN (u8, ni), toTypeName(ni IN (u8, i8)), toTypeName(ni IN (1, NULL)) FROM t ORDER BY id;
SELECT id FROM t WHERE i32 NOT IN (11, ni) ORDER BY id;
SELECT id FROM t WHERE NOT (s IN ('x', ns)) ORDER BY id;
SELECT id, i32 IN (i8, NULL), toTypeName(i32 IN (u8)), s IN ('a', lc) FROM t ORDER BY id;
SELECT count() FROM t WHERE f32 NOT IN (0.5, nf);
