-- sumKahan
SELECT sumKahan(f), sumKahan(i32), sumKahan(ni), sumKahanIf(f, id < 3), sumKahan(f32), sumKahanOrNull(nf), sumKahan(b), sumKahanArray(arr) FROM t;
SELECT lc, sumKahan(i32 / 10), sumKahan(nf), sumKahanIf(nf, id > 100), sumKahanIf(f, id > 100) FROM t GROUP BY lc ORDER BY lc;
SELECT sumKahan(f), sumKahan(nf), sumKahanOrDefault(nf), sumKahanIf(nf, id > 5), sumKahanOrNull(f) FROM none;
SELECT sumKahanMerge(s), countMerge(c) FROM (SELECT lc, sumKahanState(i32 / 10) AS s, countState() AS c FROM t GROUP BY lc);
SELECT sumKahanMerge(s) FROM (SELECT lc, sumKahanState(nf) AS s FROM none GROUP BY lc);
SELECT id, sumKahan(0.1) OVER (ORDER BY id), sumKahan(i8 / 3) OVER (ORDER BY id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM t ORDER BY id;
SELECT arrayReduce('sumKahan', [0.1, 0.2, 0.3, 0.4]), arrayReduce('sumKahan', emptyArrayFloat64()), sumKahan(number / 3) FROM numbers(100);
SELECT sumKahan(s) FROM t;
