SELECT `t`.`lc` AS `lc`, CAST(date_trunc('MONTH', `t`.`t`) AS DATE) AS `month`, count(1) AS `hits`, coalesce(theta_sketch_estimate(array_max(array(theta_sketch_agg(if(`t`.`s` IS NOT NULL, xxhash64(`t`.`s`), NULL), 16)))), 0L) AS `texts`, coalesce(avg(if((`t`.`u8` > 1), CAST(`t`.`f32` AS DOUBLE), NULL)), double('NaN')) AS `mean` 
FROM __all_t__ AS `t` 
GROUP BY `t`.`lc`, CAST(date_trunc('MONTH', `t`.`t`) AS DATE) 
ORDER BY `lc` ASC, `month` ASC
