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
