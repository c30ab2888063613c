SELECT id, JSONExtractString(js, 'a') AS a, JSONExtractInt(js, 'b') AS b FROM t ORDER BY id
