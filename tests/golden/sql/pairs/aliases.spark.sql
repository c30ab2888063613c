SELECT (`t`.`u8` + 1) AS `more`, (CAST((`t`.`u8` + 1) AS BIGINT) * 2L) AS `twice` 
FROM __all_t__ AS `t` 
WHERE ((CAST((`t`.`u8` + 1) AS BIGINT) * 2L) > 10L)
