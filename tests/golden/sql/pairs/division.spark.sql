SELECT `t`.`id` AS `id`, if(0D = 0, CAST(`t`.`u8` AS DOUBLE) * double('Infinity'), CAST(`t`.`u8` AS DOUBLE) / 0D) AS `inf`, CAST((`t`.`i32` DIV 2) AS INT) AS `half`, CAST((`t`.`i32` % 3) AS INT) AS `rest` 
FROM __all_t__ AS `t` 
ORDER BY `id` ASC
