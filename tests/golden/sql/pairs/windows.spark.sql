SELECT `t`.`id` AS `id`, row_number() OVER (PARTITION BY `t`.`lc` 
ORDER BY `t`.`id` ASC) AS `place`, coalesce(sum(`t`.`u8`) OVER (
ORDER BY `t`.`id` ASC), CAST(0 AS BIGINT)) AS `total` 
FROM __all_t__ AS `t` 
ORDER BY `id` ASC
