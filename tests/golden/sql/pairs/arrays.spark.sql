SELECT `t`.`id` AS `id`, transform(`t`.`arr`, ` x0` -> (CAST(` x0` AS BIGINT) * 2L)) AS `doubled`, coalesce(try_element_at(`t`.`arr`, 1), CAST(0 AS INT)) AS `first`, coalesce(try_element_at(`t`.`arr`, -1), CAST(0 AS INT)) AS `last`, CAST(exists(`t`.`sarr`, ` x` -> ` x` <=> 'a') AS INT) AS `a` 
FROM __all_t__ AS `t` 
ORDER BY `id` ASC
