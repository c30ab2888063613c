SELECT lc, toStartOfMonth(t) AS month, count() AS hits, uniq(s) AS texts, avgIf(f32, u8 > 1) AS mean FROM t GROUP BY lc, month ORDER BY lc, month
