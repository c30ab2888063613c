-- COLUMNS, EXCEPT, REPLACE and APPLY in the forms that users write: names, patterns, lambdas, parameters.
SELECT COLUMNS(ni, u8), COLUMNS('^i\\d') EXCEPT (i64), COLUMNS(s) REPLACE (upper(s) AS s), t.COLUMNS(f, id) FROM t ORDER BY id;
SELECT * EXCEPT 'a|m|t|^d', * EXCEPT ('[^8]$') FROM t ORDER BY id;
SELECT COLUMNS('^[ui]8$') APPLY(x -> x + 1) APPLY(toString), COLUMNS(f, nf) APPLY(v -> if(v > 1, v, toFloat64(u8))) FROM t ORDER BY id;
SELECT COLUMNS('^u\\d') APPLY(quantilesExact(0.5, 0.9)), COLUMNS(u8, i8) APPLY(sum), COLUMNS(i8) APPLY(v -> max(v) - min(v)) FROM t;
SELECT b, COLUMNS('^u') APPLY(v -> round(avg(v), 2)), COLUMNS('^i32') APPLY max FROM t GROUP BY b ORDER BY b;
SELECT * EXCEPT (s) REPLACE (u8 + 1 AS u8, 7 AS id) APPLY(toString) APPLY(length) FROM (SELECT u8, id, s FROM t) ORDER BY 1, 2;
SELECT * REPLACE (u8 AS id) APPLY(toString) APPLY(length), * APPLY toTypeName FROM (SELECT u8, id, s FROM t) ORDER BY 1, 2;
SELECT a.* APPLY(x -> x + 1), b.* APPLY(toString), COLUMNS(a.id, b.u8) FROM (SELECT id, u8 FROM t) a JOIN (SELECT id, u8 FROM t) b ON a.id = b.id ORDER BY 1;
SELECT * APPLY(x -> arrayMap(y -> y + x, [1, 2])), * APPLY((x) -> (x, u8)) FROM (SELECT u8 FROM t) ORDER BY 1;
SELECT * EXCEPT ('u', 'i') FROM t;
SELECT * EXCEPT (id, 'i') FROM t;
SELECT COLUMNS(id, nope) FROM t;
SELECT COLUMNS('u8') AS x FROM t;
