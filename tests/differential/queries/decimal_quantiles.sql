-- Quantiles of Decimals, which are Decimals: interpolated between the integers behind them, and cut.
SELECT median(x), quantile(0.3)(x), quantiles(0.1, 0.9)(x), quantile(0.1)(x), quantile(0.9)(x), medianIf(x, x > 2), medianOrNull(x), medianDistinct(x), medianArray([x, x]), stddevPop(x) FROM (SELECT arrayJoin([toDecimal64(7.55, 2), toDecimal64(1.20, 2), toDecimal64(3.33, 2), toDecimal64(9.99, 2)]) AS x);
SELECT median(x), quantile(0.1)(x), quantile(0.9)(x), median(x) OVER () FROM (SELECT arrayJoin([toDecimal64(-7.55, 2), toDecimal64(1.20, 2)]) AS x) GROUP BY x ORDER BY x;
SELECT median(x), quantile(0.1)(x), quantile(0.9)(x), quantiles(0.5)(x) FROM (SELECT arrayJoin([toDecimal32(-7.55, 2), toDecimal32(1.20, 2)]) AS x);
SELECT median(x), quantile(0.3)(x), quantiles(0.3)(x), medianOrNull(x), medianOrDefault(x), medianIf(x, 0) FROM (SELECT toDecimal64(1.5, 2) AS x WHERE 0);
SELECT median(x), medianMerge(s), quantilesMerge(0.3, 0.5)(s) FROM (SELECT arrayJoin([toNullable(toDecimal64(-7.55, 2)), NULL]) AS x, 1 AS k) AS a CROSS JOIN (SELECT medianState(y) AS s FROM (SELECT arrayJoin([toDecimal64(-7.55, 2), toDecimal64(1.20, 2), toDecimal64(1.20, 2)]) AS y)) AS b;
SELECT medianMerge(s), quantilesMerge(0.3, 0.5)(s) FROM (SELECT medianState(y) AS s FROM (SELECT arrayJoin([toDecimal64(-7.55, 2), toDecimal64(1.20, 2), toDecimal64(1.20, 2)]) AS y));
SELECT arrayReduce('median', [toDecimal32(1.5, 2), toDecimal32(2, 2)]), quantileDeterministic(toDecimal32(1.5, 2), 1);
SELECT arrayReduce('median', [toDecimal32(1.5, 2), toDecimal32(2, 2)]), toTypeName(median(toDecimal32(1, 2)));
