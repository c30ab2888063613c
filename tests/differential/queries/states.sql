-- States of aggregate functions, merged.
SELECT finalizeAggregation(s) FROM (SELECT countState() AS s FROM t);
SELECT lc, countMerge(c), sumMerge(sm), avgMerge(a), uniqMerge(u), maxMerge(m), minMerge(n), argMaxMerge(am), uniqExactMerge(ue), quantileMerge(q), arraySort(groupUniqArrayMerge(gu)), anyMerge(an), uniqMerge(us) FROM (SELECT lc, id, countState() AS c, sumState(u8) AS sm, avgState(nf) AS a, uniqState(ns) AS u, maxState(t) AS m, minState(ni) AS n, argMaxState(s, id) AS am, uniqExactState(u8) AS ue, quantileState(0.5)(u8) AS q, groupUniqArrayState(lc) AS gu, anyState(lc) AS an, uniqState(u8, lc) AS us FROM t GROUP BY lc, id) GROUP BY lc ORDER BY lc;
SELECT countMerge(c), sumMerge(s), avgMerge(a), uniqMerge(u), maxMerge(m) FROM (SELECT countState() AS c, sumState(u8) AS s, avgState(u8) AS a, uniqState(ns) AS u, maxState(t) AS m FROM none);
SELECT avgMerge(a), sumMerge(s), countMerge(c) FROM (SELECT lc, avgMergeState(a) AS a, sumMergeState(s) AS s, countMergeState(c) AS c FROM (SELECT lc, id, avgState(i64) AS a, sumState(ni) AS s, countState(ni) AS c FROM t GROUP BY lc, id) GROUP BY lc);
SELECT countIfMerge(c), sumIfMerge(s), avgIfMerge(a) FROM (SELECT countIfState(u8 > 3) AS c, sumIfState(u8, id > 2) AS s, avgIfState(u8, id > 2) AS a FROM t GROUP BY lc);
-- a state of countIf(condition) is one of count
SELECT lc, countMerge(c) AS x, countMergeIf(c, id > 2) AS y, countIfMerge(c) AS z FROM (SELECT lc, id, countIfState(u8 > 3) AS c FROM t GROUP BY lc, id) GROUP BY lc ORDER BY lc;
SELECT toTypeName(countMergeState(c)) AS x, finalizeAggregation(countMergeState(c)) AS y FROM (SELECT countIfState(u8 > 3) AS c FROM t GROUP BY lc);
SELECT finalizeAggregation(avgState(x)), avg(x), sum(x), avgMerge(s) FROM (SELECT x, avgState(x) AS s FROM (SELECT arrayJoin([toInt64(9223372036854775807), toInt64(9223372036854775806), toInt64(5)]) AS x) GROUP BY x);
