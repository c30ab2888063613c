-- NULL handling and choice of values.
SELECT id, greatest(f, nf), least(f, nf), least(nan, 1), greatest(nan, 1), greatest(1, nan), least(1, nan), greatest(f, 1, 2.5), greatest(nf, ni), least(nf, 0.5, f), greatest(f32, f) FROM t;
SELECT id, transform(u8, [0, 7], ['zero', 'seven'], 'other'), transform(s, ['', 'été'], ['e', 'x'], 'o'), transform(u8, [0, 7], [10, 20]), transform(s, ['été'], ['summer']), transform(u8, [0, 7], [1.5, 2.5], 0), transform(u8, [0, 7], ['a', 'b'], s), transform(d, [toDate('2024-02-29')], ['leap'], ''), transform(i32, [-5, 7], [1, 2], 0), transform(lc, ['a'], ['A'], lc), transform(u8, [0, 7], [100, 200], 0), toTypeName(transform(u8, [0, 7], [10, 2000])), toTypeName(transform(u8, [0, 7], [10, 2000], -1)) FROM t;
SELECT transform(u8, [0, 7], [10, 2000]) FROM t;
SELECT transform(i8, [255], [1], 0), transform(i8, [-1, 127], [1, 2], 0), transform(u8, [-1, 255], [1, 2], 0) FROM t;
SELECT throwIf(u8 > 300), throwIf(u8 > 300, 'no'), ignore(u8, s), isNullable(ni), isNullable(u8), defaultValueOfArgumentType(s), defaultValueOfArgumentType(ni), defaultValueOfArgumentType(d), toTypeName(rand64()), rand64() >= 0, randUniform(1, 2) >= 1, randCanonical() < 1 FROM t;
SELECT id, coalesce(ni, 0), coalesce(ns, lc), ifNull(nf, 1.5), nullIf(u8, 7), isNull(ni), isNotNull(ni), coalesce(ni, nf), coalesce(NULL, NULL, id), if(ni > 3, 1, 0), if(NULL, 1, 2) FROM t;
SELECT id, multiIf(u8 > 100, 'a', u8 > 3, 'b', 'c'), greatest(u8, i8), least(u8, i32), greatest(ni, 3), if(u8 > 3, u8, i8), if(b, 1, -1), if(b, 1.5, 2), if(b, NULL, 'x') FROM t;
SELECT nullIf('a', 1);
SELECT nullIf([1], [1]);
SELECT nullIf(1, NULL), nullIf(NULL, 1), nullIf(1, 1.0), toTypeName(nullIf(1, 2.5)), nullIf(nan, nan) IS NULL;
-- transform of Nullable values.
SELECT x, transform(x, [1, 0], ['a', 'zero'], 'b'), transform(x, [1, 0], ['a', NULL], 'b'), transform(x, [1, 2], [10, 20], toNullable(5)), transform(x, [1, 2], [10, 20], x), transform(x, [1], [NULL], 7), transform(toString(x), ['1', ''], ['one', 'none'], 'other'), transform(x, [1, 0], ['a', 'zero'], NULL) FROM (SELECT arrayJoin([NULL, 0, 1]) AS x);
SELECT id, transform(ni, [1, 7], ['a', 'b'], s), transform(ns, ['a', ''], [1, 2], 0), transform(nf, [0.5, 1.5], ['h', 'o'], ns), transform(nt, [toDateTime('2024-01-01 00:00:00')], ['n'], 'x'), transform(u8, [255, 0], [NULL, 'z'], s), transform(lc, ['a'], [toNullable(1)], u8) FROM t ORDER BY id;
SELECT transform(toNullable(3), [1], [5]);
SELECT transform(1, [2, NULL], ['a', 'c'], 'x');
-- IN of floats: NaN is in a list of literals that has it, and in none with something computed.
SELECT f, (f, 1) IN ((f, 1)) AS a, (f, 1) IN ((f, 1), (3, 2)) AS b, (f, 1) IN ((nan, 1), (3, 1)) AS c, f IN (nan, nan) AS d, f IN (f) AS e, f IN (f, 3) AS g, f IN (nan, 3, f) AS h, f NOT IN (f, 7) AS i, toFloat32(f) IN (f, 3) AS k, f IN [f, 3] AS l, f IN tuple(f, 3) AS m FROM (SELECT arrayJoin([nan, 3, 0.5]) AS f) ORDER BY f;
SELECT f, f IN (f, 3) AS a, f IN (f, NULL) AS b, f NOT IN (f, NULL, 3) AS c, f IN (nan, NULL) AS d, f IN (f) AS e FROM (SELECT arrayJoin([nan, 3, NULL]) AS f) ORDER BY f;
SELECT (u8, 1) IN ((u8, 1)) AS a, (u8, s) IN ((1, 'a')) AS c, (u8, s) IN ((u8, 'a'), (2, s)) AS d, (ni, s) IN ((ni, s)) AS e, (u8, s) IN (tuple(u8, s)) AS f FROM t;
SELECT isNotNull(accurateCast(s, 'Date')), accurateCast(s, 'Date') IS NOT NULL, isNull(accurateCast(s, 'Date')), isNotNull(ni), isNotNull(throwIf(id > 0)) FROM t;
SELECT transform(i8, [1, 7], [70, 80]), transform(u8, [1, 7], [70, 80]), transform(i32, [1, 7], [70, 80]), transform(i8, [1], [300]), transform(u8, [1, 7], [-70, 80]), transform(s, ['a'], ['b']) FROM t;

-- Another number in the place of NaN and infinity.
SELECT ifNotFinite(1/0, 5), ifNotFinite(nan, 2.5), ifNotFinite(1.5, 3), toTypeName(ifNotFinite(1.5, 3)), ifNotFinite(toFloat32(1.5), 2), toTypeName(ifNotFinite(toFloat32(1.5), 2)), ifNotFinite(1, 2), toTypeName(ifNotFinite(1, 2)), ifNotFinite(toNullable(1.5), 2), ifNotFinite(nullIf(1.5, 1.5), 2), toTypeName(ifNotFinite(nullIf(1.5, 1.5), 2)), ifNotFinite(1.5, NULL);
SELECT ifNotFinite(NULL, 1), ifNotFinite(nan, NULL);
SELECT id, ifNotFinite(f / (id - 2), -1), ifNotFinite(nf, 0), ifNotFinite(f32 / 0, f), ifNotFinite(id, 1) FROM t ORDER BY id;
SELECT ifNotFinite(toDecimal32(1.5, 2), 2);
