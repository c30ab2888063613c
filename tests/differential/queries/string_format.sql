-- format, concatWithSeparator, initcap.
SELECT format('{} {}', 'a', s) AS a, format('{1}{0}{1}', s, 'x') AS b, format('{{}}', 'a') AS c, format('a{}b', ns) AS d, format('{}', 1) AS e, format('{0}', toDate('2024-01-01')) AS f, format('x', 'a') AS g, format('{} ', 'a', 'b') AS h, format('{{ {} }}', id) AS i, concatWithSeparator('-', s, ns) AS j, concatWithSeparator('-', 'a', 1, toDate('2024-01-01')) AS k, concat_ws('x', 'a', 'b') AS l, concatWithSeparator('-', 'a') AS m FROM t;
SELECT format('{', 'a');
SELECT format('}', 'a');
SELECT format('{}{0}', 'a');
SELECT format('{1}', 'a');
SELECT format('{a}', 'a');
SELECT format('{{{}}}', 'a');
SELECT concatWithSeparator(s, 'a', 'b') FROM t;
SELECT initcap('hello wORLD a1b é été x-y_z 1abc') AS a, initcap(s) AS b, initcap(ns) AS c, initcap('') AS d, unbin('01100001') AS e, unbin('1') AS f, unbin('') AS g, hex(unbin('101100001')) AS h, hex(unbin('01100')) AS i FROM t;
SELECT initcapUTF8('hello wORLD a1b é été x-y_z 1abc ßa aß ǆ ŉx İi ıI ſt ﬃ 日本a 😀b_c ΑΣ'), initcapUTF8(s), initcapUTF8(ns), initcapUTF8(lc), initcapUTF8(''), initcapUTF8(NULL) FROM t;
SELECT h, hex(initcapUTF8(unhex(h))) FROM (SELECT arrayJoin(['61FF62', '61C362', '61E282', 'E28261', '61C3A9C3', '61EDA08062', 'C0816162', '610062', '61808062', 'E2C3A961', 'F0616162', '61F4908080621A', '', '61F09F9880C3A9C3A9']) AS h);
SELECT initcapUTF8(toFixedString('ab', 2));
SELECT initcapUTF8(1);
