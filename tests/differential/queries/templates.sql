-- What templates write: numbers and times with their types, quoted names, lists; as they stand in rendered SQL.
SELECT toInt8('-128') AS a, toUInt8('255') AS b, toInt32('5') AS c, toUInt64('18446744073709551615') AS d, toInt64('-9223372036854775808') AS e, toFloat64('1e+20') AS f, toFloat64('nan') AS g, toFloat64('-inf') AS h, toFloat32('0.1') AS i, toFloat64('-0.0') AS j;
SELECT '\'; DROP TABLE t; --' AS a, '\\' AS b, '\0' AS c, '\n\r\t' AS d, '%_' AS e, '{{ x }}' AS f, '‘’' AS g, '`"#/*' AS h;
SELECT number FROM numbers(toInt32('10')) ORDER BY number LIMIT toInt32('3') OFFSET toInt64('2');
SELECT number FROM numbers(10) ORDER BY number LIMIT 2 OFFSET 3 * 2;
SELECT `number` % toInt32('3') AS `k`, max(`number`) as `m` FROM `numbers`(10) WHERE `number` in [1,2,5] and `number` > toInt32('1') and 1 GROUP BY `k` ORDER BY `k`;
SELECT quantileExact(toFloat64('0.25'))(number) AS a, topK(toInt32('1'))(toString(intDiv(number, 8))) AS b FROM numbers(10);
SELECT toDate('2024-01-31') >= '2024-01-01' AS a, toDateTime('2024-01-31 00:00:00') + INTERVAL toInt32('3') DAY AS b, 10- -1 AS c, 'b' in ['a','b'] AS d, [1.5,toFloat64('nan')] AS e, 1 + true AS f;
