SELECT `lc`, `id` 
FROM (SELECT `t`.`lc` AS `lc`, `t`.`id` AS `id`, row_number() OVER (PARTITION BY `t`.`lc` 
ORDER BY `t`.`lc` ASC, `t`.`id` DESC) AS `__place`, `t`.`lc` AS `__order0`, `t`.`id` AS `__order1` 
FROM __all_t__ AS `t`) 
WHERE `__place` > 0 AND `__place` <= 1 
ORDER BY `__order0` ASC, `__order1` DESC
