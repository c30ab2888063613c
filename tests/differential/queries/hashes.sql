-- Hashes: the same bits.
SELECT number, cityHash64(substring(repeat('The quick brown fox, é! ', 40), 1, number)) FROM numbers(140);
SELECT cityHash64(v) FROM (SELECT arrayJoin([repeat('abc', 100), repeat('0', 1000), repeat('xyz', 333), unhex('ff00fe'), repeat(unhex('ff00fe'), 50)]) AS v);
SELECT cityHash64(ns), cityHash64(u8), cityHash64(u16), cityHash64(u64), cityHash64(i8), cityHash64(i32), cityHash64(i64), cityHash64(ni), cityHash64(b), cityHash64(d), cityHash64(t), cityHash64(nt), cityHash64(id) FROM t;
SELECT cityHash64(ns, id, i8), cityHash64(id, u64), cityHash64(1, 2, 3, 4), cityHash64(NULL), cityHash64(id, NULL), cityHash64(d, t, i8) FROM t;
SELECT arrayMap(x -> cityHash64(x, s), sarr) FROM t;
SELECT cityHash64(s) % 10 AS bucket, count() FROM t GROUP BY bucket;
SELECT xxHash64(s), xxHash64(ns), xxHash64(url), xxHash64(''), xxHash64(repeat('abc', 100)), xxHash64(toFixedString('a', 3)), halfMD5(s), halfMD5(ns), CRC32(s), CRC32(ns), CRC32(''), javaHash(s), javaHash(ns), javaHash(''), javaHash(unhex('ff80')), hiveHash(s), hiveHash('é') FROM t;
SELECT number, xxHash64(substring(repeat('The quick brown fox, é! ', 40), 1, number)) FROM numbers(80);
SELECT intHash64(u8), intHash64(u64), intHash64(i8), intHash64(i64), intHash64(ni), intHash64(d), intHash64(t), intHash64(id) FROM t;
SELECT hex(MD5(s)), hex(MD5(ns)), hex(SHA1(s)), hex(SHA224(s)), hex(SHA256(s)), hex(SHA384(s)), hex(SHA512(s)), toTypeName(MD5(s)), toTypeName(SHA256(ns)), lower(hex(MD5(concat(s, 'x')))), length(SHA1(s)), hex(MD5(toFixedString('a', 3))), hex(MD5(unhex('ff'))), hex(MD5('')) FROM t;
SELECT intHash64('a');
SELECT intHash64(1.5);
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
-- a hash of several values as a key
SELECT cityHash64(lc, toString(u8 % 3)) AS h, count() AS c, max(id) AS m FROM t GROUP BY h ORDER BY h, c, m;
SELECT count() AS c FROM t GROUP BY sipHash64(lc, b) ORDER BY c;
SELECT number, toInt64(xxHash64(number)), bitAnd(cityHash64(number), 7), reinterpretAsInt16(sipHash64(number)), halfMD5(number) < toInt64(5), toDecimal128(murmurHash2_64(number), 0), toDateTime('2024-01-01 00:00:00') + toIntervalSecond(murmurHash3_64(number)) FROM numbers(20);
SELECT groupBitAnd(cityHash64(number)), groupBitXor(toInt64(sipHash64(number))) FROM numbers(20);
SELECT cityHash64([(id, s), NULL]), sipHash64(tuple(if(id > 2, (id, s), NULL))), xxHash64(s, [if(id > 2, (id, ns), NULL)], id), murmurHash3_128((1, if(id > 2, (id, s), NULL), 2)) FROM t;
