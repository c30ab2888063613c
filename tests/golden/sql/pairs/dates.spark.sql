SELECT `t`.`id` AS `id`, timestamp_seconds(floor(unix_seconds(`t`.`t`) / 900) * 900) AS `quarter`, greatest(CAST(from_utc_timestamp(`t`.`t`, 'America/New_York') AS DATE), DATE'1970-01-01') AS `day`, CAST(unix_date(CAST(DATE'2024-07-20' AS DATE)) - unix_date(CAST(`t`.`d` AS DATE)) AS BIGINT) AS `days` 
FROM __all_t__ AS `t` 
ORDER BY `id` ASC
