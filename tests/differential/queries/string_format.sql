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
