SELECT id, row_number() OVER (PARTITION BY lc ORDER BY id) AS place, sum(u8) OVER (ORDER BY id) AS total FROM t ORDER BY id
