SELECT lc, uniqMerge(texts) AS texts, countMerge(hits) AS hits FROM (SELECT lc, u8, uniqState(s) AS texts, countState() AS hits FROM t GROUP BY lc, u8) GROUP BY lc ORDER BY lc
