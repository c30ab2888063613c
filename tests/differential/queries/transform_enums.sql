-- transform of an Enum, by its names or numbers
SELECT id, CAST(if(lc = 'a', 'x', 'y z'), 'Enum8(\'x\' = 1, \'y z\' = -2)') AS e, transform(e, ['x', 'y z'], ['X', 'Y'], 'other'), transform(e, ['x'], [1], 0), transform(toNullable(e), ['y z'], [1.5], 2), transform(e, ['x'], ['X'], s) FROM t ORDER BY id;
SELECT transform(CAST(if(lc = 'a', 'x', 'y'), 'Enum8(\'x\' = 1, \'y\' = -2)'), ['q'], [1], 0) FROM t;
SELECT transform(CAST(if(lc = 'a', 'x', 'y'), 'Enum8(\'x\' = 1, \'y\' = -2)'), ['x', 'y'], ['y', 'x']) FROM t;
