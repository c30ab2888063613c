-- Other names of aggregates.
SELECT max_by(s, i32), MIN_BY(id, i32), round(STD(i32), 9), round(STDDEV(i32), 9), round(STDDEV_POP(f), 6), round(Stddev_Samp(i32), 9), round(VAR_POP(i32), 9), round(var_samp(i32), 9), round(COVAR_POP(i32, u8), 9), round(covar_samp(i32, u8), 9) FROM t;
SELECT BIT_AND(u8) AS a, bit_or(u8) AS b, Bit_Xor(u16) AS c, max_byIf(s, i32, id < 3) AS d, toTypeName(STDState(i32)) AS e, toTypeName(max_byState(s, i32)) AS g, toTypeName(BIT_ANDState(u8)) AS h, FIRST_VALUE(id) AS k FROM t WHERE id = 4;
SELECT string_agg(s, ',') AS a, STRING_AGG(toString(id), '-') AS b, GROUP_CONCAT(id) AS c, anyValueRespectNulls(ni) AS d, arraySort(ARRAY_AGG(id)) AS e FROM (SELECT * FROM t ORDER BY id) WHERE id = 2;
SELECT max_by(s, i32), STD(u8), BIT_AND(u8), string_agg(s, ',') AS g, anyValueRespectNulls(ni) FROM none;
SELECT array_concat_agg(arr), Array_Concat_Agg(sarr) FROM t WHERE id = 2;
SELECT argAndMax(s, i32), argAndMin(id, i64), toTypeName(argAndMax(s, i32)) FROM t;
SELECT sumMappedArrays([u8], [u16]), minMappedArrays([u8], [u16]), maxMappedArrays([u8], [u16]) FROM t;
SELECT sumMappedArrays(arr, arr), minMappedArrays(sarr, [id, id, id]) FROM t WHERE id = 2;
SELECT argAndMax(s, i32), argAndMin(id, i64), argAndMax(d, u8) FROM none;
SELECT argAndMax(s, u64), argAndMin(t3, dec), argAndMaxIf(id, u16, id < 4), argAndMin(arr, id), toTypeName(argAndMinState(id, i64)), argAndMax(u8, lc) FROM t WHERE id < 4;
SELECT tupleElement(argAndMaxMerge(x), 2) FROM (SELECT argAndMaxState(id, u16) AS x FROM t);
SELECT groupConcat(id, ',') AS g FROM t WHERE id = 3;
SELECT sumMappedArrays(m) FROM t;
