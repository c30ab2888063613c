SELECT a.id AS id, b.s AS s, b.u8 AS u8, m['missing'] AS m FROM t AS a LEFT JOIN t AS b ON a.id = b.u8
