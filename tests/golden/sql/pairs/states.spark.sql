SELECT `__t0`.`lc` AS `lc`, coalesce(theta_sketch_estimate(array_max(array(theta_union_agg(`__t0`.`texts`, 16)))), 0L) AS `texts`, coalesce(sum(`__t0`.`hits`), 0L) AS `hits` 
FROM (SELECT `t`.`lc` AS `lc`, `t`.`u8` AS `u8`, theta_sketch_agg(if(`t`.`s` IS NOT NULL, xxhash64(`t`.`s`), NULL), 16) AS `texts`, count(1) AS `hits` 
FROM __all_t__ AS `t` 
GROUP BY `t`.`lc`, `t`.`u8`) AS `__t0` 
GROUP BY `__t0`.`lc` 
ORDER BY `lc` ASC
