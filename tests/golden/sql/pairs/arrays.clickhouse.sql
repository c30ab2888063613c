SELECT id, arrayMap(x -> x * 2, arr) AS doubled, arr[1] AS first, arr[-1] AS last, has(sarr, 'a') AS a FROM t ORDER BY id
