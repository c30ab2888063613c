-- SipHash: the same bits.
SELECT number, sipHash64(substring(repeat('The quick brown fox, é! ', 40), 1, number)), hex(sipHash128(substring(repeat('The quick brown fox, é! ', 40), 1, number))) FROM numbers(70);
SELECT sipHash64(v), hex(sipHash128(v)) FROM (SELECT arrayJoin([repeat('abc', 100), repeat('0', 1000), repeat('xyz', 333), unhex('ff00fe'), repeat(unhex('ff00fe'), 50), repeat('a', 255), repeat('a', 256)]) AS v);
SELECT sipHash64(s), sipHash64(ns), sipHash64(u8), sipHash64(u16), sipHash64(u64), sipHash64(i8), sipHash64(i32), sipHash64(i64), sipHash64(ni), sipHash64(b), sipHash64(d), sipHash64(t), sipHash64(nt), sipHash64(id), sipHash64(lc), sipHash64(toFixedString('ab', 3)) FROM t;
SELECT sipHash64(ns, id, i8), sipHash64(id, u64), sipHash64(1, 2, 3, 4), sipHash64(NULL), sipHash64(id, NULL), sipHash64(d, t, i8), sipHash64('a', ni) FROM t;
SELECT hex(sipHash128(ns)), hex(sipHash128(id, s)), hex(sipHash128(i64, u8, s)), sipHash128(NULL), toTypeName(sipHash128(s)), toTypeName(sipHash128(ns)), toTypeName(sipHash64(ns)) FROM t;
SELECT arrayMap(x -> sipHash64(x, s), sarr), sipHash64(s) % 10 AS bucket FROM t;
SELECT cityHash64(h, s) AS h2, sipHash64(h, s) FROM (SELECT cityHash64(s, number) AS h, s FROM (SELECT number, repeat('ab', number) AS s FROM numbers(40))) WHERE cityHash64(s) % 3 = 1;
SELECT sipHash64(x) FROM (SELECT sipHash64(cityHash64(s), s, s, 1) AS x FROM t) WHERE sipHash64(x, 1, 2) % 2 = 0;
SELECT cityHash64(toString(cityHash64(s))), cityHash64(s, u8, s, ns) FROM t;
SELECT `a(b`, cityHash64(`a(b`), cityHash64(concat(`a(b`, ')(')), gcd(length(`a(b`) + 1, 4) FROM (SELECT s AS `a(b` FROM t);
