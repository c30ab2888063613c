-- CASE and transform over constants look values up by their hash: NaN is found nowhere, -0.0 is not 0.0, and values of other types are not found.
SELECT transform(nan, [nan, 1.0], [5, 6], 7), transform(nan, [nan], ['a'], 'z'), transform(f, [nan, 1.5], ['n', 'x'], 'd') FROM t;
SELECT transform(x, [nan, 1.5], ['n', 'x'], 'd'), transform(x, [nan, 1.5, inf], ['n', 'x', NULL], 'd'), transform(x, [0.], ['z'], 'd'), transform(x, [-0., 1.5], ['z', 'o'], 'd'), transform(x, [nan, 0.], [1., 2.]) FROM (SELECT arrayJoin([nan, 1.5, inf, 0., -0.]) AS x);
SELECT transform(x, [nan, 1.5], ['n', 'x'], 'd') FROM (SELECT arrayJoin([nan, NULL, 1.5]) AS x);
SELECT arrayMap(x -> transform(x, [nan, 0., -0.], ['a', 'b', 'z'], 'c'), [1., 0., nan, -0.]), transform(round(-0.3), [0.], ['a'], 'b');
SELECT transform(f, [f], ['a'], 'b') FROM t;
SELECT CASE x WHEN 0.0 THEN 'z' WHEN 1 THEN 'o' ELSE 'd' END, CASE x WHEN -0.0 THEN 'z' ELSE 'd' END, CASE x WHEN 0 THEN 'z' ELSE toString(x) END, CASE x WHEN 0 THEN toString(x) ELSE 'd' END FROM (SELECT arrayJoin([0., -0., 1., nan]) AS x);
SELECT CASE [u8] WHEN [1] THEN 'a' ELSE 'b' END, CASE [u8] WHEN [i8] THEN 'a' ELSE 'b' END, CASE (u8, 1) WHEN (1, 1) THEN 'a' ELSE 'b' END, CASE [f] WHEN [1.5] THEN 'a' ELSE 'b' END, CASE [s] WHEN ['Hello World'] THEN 'a' ELSE 'b' END, CASE arr WHEN [] THEN 'a' ELSE 'b' END FROM t;
SELECT CASE [u8] WHEN [1.] THEN s ELSE 'b' END, CASE [i32] WHEN [7] THEN s ELSE 'b' END, CASE [u8] WHEN [ni] THEN s ELSE 'b' END FROM t;
SELECT CASE [t] WHEN [toDateTime('2024-02-29 23:59:59', 'Europe/Berlin')] THEN 's' ELSE 'b' END FROM t;
-- Where only one of two arrays can hold NULL, NULL counts as the default of the type; a text in a row as well.
SELECT hasAny(sarr, [NULL]), hasAll(sarr, [NULL]), hasAny(sarr, [ns]), hasAll(arr, [ni]), hasAny(arr, [ni, 1]), hasSubstr([ni, 1], [0, 1]), hasAny([nf], [f]) FROM t;
SELECT hasAny([x], [NULL]), hasAll([x], [NULL, x]), hasAny([x], []), hasAll([NULL], [x]), hasAny(['a', NULL], [NULL]), hasAll(['', NULL], [NULL, '']) FROM (SELECT arrayJoin(['', 'a']) AS x);
SELECT has(sarr, ns), indexOf(sarr, ns), notHas(sarr, ns), countEqual(sarr, ns), has([s], ns), has(['a', ''], ns), has(mapKeys(m), ns) FROM t;
