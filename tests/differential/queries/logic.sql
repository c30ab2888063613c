-- xor: true for an odd number of true operands.
SELECT xor(i8, u8), xor(f, i8), xor(i8 > 0, u8 > 0, 1), xor(ni, u8), xor(true, i8), toTypeName(xor(ni, 1)), toTypeName(xor(true, false)) FROM t;
SELECT xor(1, NULL) IS NULL, xor(nan, 0), xor('a' = 'a', 0.0, -1);
SELECT xor('a', 1);
SELECT xor(toDecimal32(1, 2), 0);
SELECT xor(1);
SELECT xor(s, 1) FROM t;
SELECT xor(dec, 1) FROM t;
SELECT u8 <=> ni, (u8 <=> (ni < 3)), ni IS NOT DISTINCT FROM u8, ni IS DISTINCT FROM u8, (ni, 1) IS DISTINCT FROM (u8, 1), NOT (ni <=> u8), ni IS NOT DISTINCT FROM NULL, NULL <=> NULL, [1] <=> [2], (ni IS DISTINCT FROM NULL) + 1, nf IS DISTINCT FROM f, isDistinctFrom(ns, s) FROM t;
SELECT count() FROM t WHERE ni IS DISTINCT FROM u8 AND NOT (ns IS NOT DISTINCT FROM 'a');
SELECT id FROM t WHERE u8 IN (SELECT b FROM t WHERE b);
SELECT id FROM t WHERE i32 NOT IN (SELECT b FROM t WHERE b);
SELECT id FROM t WHERE (f, id) IN (SELECT b, id FROM t WHERE b);
SELECT id FROM t WHERE (b, b) IN (SELECT b, b FROM t WHERE id > 2);
SELECT id FROM t WHERE (b, ni) NOT IN (SELECT b, b FROM t WHERE id > 2);
