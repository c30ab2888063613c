SELECT `a`.`id` AS `id`, coalesce(`b`.`s`, '') AS `s`, coalesce(`b`.`u8`, CAST(0 AS INT)) AS `u8`, coalesce(try_element_at(`a`.`m`, 'missing'), CAST(0 AS INT)) AS `m` 
FROM __all_t__ AS `a` 
LEFT JOIN __all_t__ AS `b` ON (`a`.`id` = CAST(`b`.`u8` AS BIGINT))
