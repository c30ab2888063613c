-- Texts that are cut inside a letter, and bytes that are no UTF-8.
SELECT concat(upper(left(x, 1)), lower(substring(x, 2))), hex(upper(left(x, 1))), hex(lower(substring(x, 1, 1))), position(x, left(x, 1)) FROM (SELECT arrayJoin(['été', 'hello', 'ñandú', '😀ab', '日本', 'ÉTÉ']) AS x);
SELECT upper(k) || r, hex(lower(k)) FROM (SELECT left(s, 1) AS k, substring(s, 2) AS r FROM t);
SELECT hex(lower(unhex('C3A9FF41'))), hex(upper(unhex('61FF62'))), hex(lower(char(255, 65))), upper(ns), lower(lc), upper(toFixedString('ab', 4)), arrayMap(v -> upper(v), sarr), lower('ÀB') FROM t;
SELECT x, lengthUTF8(substring(x, 2)), lengthUTF8(left(x, 3)), arrayMap(c -> hex(c), splitByChar('b', substring(x, 2))), arrayMap(c -> hex(c), splitByString('b', left(x, 5))), hex(translate(left(x, 1), 'a', 'b')), hex(left(x, 1) || substring(x, 2)) FROM (SELECT arrayJoin(['été', 'hello', '😀ab', '日本b', 'éb']) AS x);
SELECT positionCaseInsensitive(substring('été B', 2), 'b'), startsWithCaseInsensitive(substring('éB', 2), substring('éb', 2)), countSubstringsCaseInsensitive('aAbA', 'a');
SELECT lowerUTF8(upperUTF8('ß')), upperUTF8(lowerUTF8('İ')), lowerUTF8(upperUTF8(x)), upperUTF8(lowerUTF8(x)), upperUTF8(upperUTF8(x)), lower(upper(x)), lowerUTF8(u) FROM (SELECT x, upperUTF8(x) AS u FROM (SELECT arrayJoin(['ß', 'İ', 'ŉ', 'ſ', 'Éa', 'ΑΣ', 'ᾳ', 'ı']) AS x)) ORDER BY x;
SELECT leftUTF8('l+', n), rightUTF8('l+', n), left('l+', n), right('abc', n), substringUTF8('abc', 1, n), substring('abc', n), repeat('a', n) FROM (SELECT arrayJoin([toNullable(toInt64(2)), NULL, 1]) AS n);
