-- ltrim and rtrim, in any case, are trimLeft and trimRight by name, too.
SELECT ltrim(' a'), rtrim('a '), trim(' a ');
SELECT LTRIM(' a'), RTRIM('a '), TRIM(' a '), lTrim(' a');
SELECT ltrim('xa', 'x'), rtrim('ax', 'x');
SELECT trimLeft(' a'), trimRight('a '), trimBoth(' a '), upper(ltrim(s)) FROM t ORDER BY id;
SELECT ltrim(s) AS x, ltrim(x) FROM t ORDER BY id;
SELECT arrayMap(x -> ltrim(x), [' a']);
