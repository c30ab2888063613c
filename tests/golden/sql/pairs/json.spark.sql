SELECT `t`.`id` AS `id`, coalesce(penstock_document_text(coalesce(try_variant_get(try_parse_json(penstock_source_json(`t`.`js`)), '$[\'a\']', 'variant'), try_parse_json('null'))), penstock_document_letters(penstock_document_numbers(get_json_object(penstock_source_json(`t`.`js`), '$[\'a\']')))) AS `a`, coalesce(penstock_document_integer(try_variant_get(try_parse_json(penstock_source_json(`t`.`js`)), '$[\'b\']', 'variant'), -9223372036854775808L, 9223372036854775807L), CAST(0 AS BIGINT)) AS `b` 
FROM __all_t__ AS `t` 
ORDER BY `id` ASC
