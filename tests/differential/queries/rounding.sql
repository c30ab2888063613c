-- Rounding, limits and buckets.
SELECT id, round(f), round(f, 1), round(f32, 1), round(f32, 2), round(dec), round(dec, 1), round(i32, -1), round(u16, -2), round(f, -2), roundBankers(f, 1), roundBankers(dec, 1), floor(f32, 1), ceil(f32, 1), trunc(f32, 1), trunc(dec, 1), floor(i32, -1), ceil(i32, -1), trunc(i32, -1), round(f32, -1), round(i64, -3), floor(i64, -2), roundBankers(f), roundBankers(i32, -1) FROM t;
SELECT roundToExp2(u8), roundToExp2(i32), roundToExp2(i8), roundToExp2(ni), roundDuration(u16), roundAge(u8), roundAge(ni), roundAge(i8) FROM t;
SELECT id, round(f), round(f, 1), round(f, 2), floor(f), ceil(f), trunc(f), floor(f, 1), ceil(f, 1), round(dec, 1), round(u8), round(f32, 1), floor(dec), round(nf, 1) FROM t;
SELECT round(0.5), round(1.5), round(2.5), round(-0.5), round(-1.5), round(2.675, 2), round(1234.5, -2), floor(-1.5), ceil(-1.5), trunc(-1.5);
SELECT id, clamp(i32, -5, 5), clamp(u8, 2, 100), clamp(f, -1, 1000), clamp(ni, -1, 6), clamp(s, 'a', 'c'), clamp(d, toDate('2020-01-01'), toDate('2024-01-01')), clamp(dec, 0, 10), clamp(t, toDateTime('2000-01-01 00:00:00'), toDateTime('2024-01-01 00:00:00')), clamp(u64, 1, 100), toTypeName(clamp(ni, -1, 6)), toTypeName(clamp(dec, 0, 10)), clamp(i64, i32, i32 + 10), clamp(5, 1, 3), toTypeName(clamp(toInt8(1), toUInt8(2), toUInt16(3))) FROM t ORDER BY id;
SELECT clamp(5, 3, 1);
SELECT clamp(1, 'a', 'b');
SELECT clamp(nan, 1, 2), clamp(inf, 1, 2), clamp(NULL, 1, 2), clamp(1, 1, 1);
SELECT id, widthBucket(f, -10, 10, 5), widthBucket(i32, 0, 10, 5), widthBucket(nf, 0, 1, 300), width_bucket(i8, -8.6, 23, 10) AS w, widthBucket(u8, 0, 0, 5), widthBucket(f32, -1, 4, 7), toTypeName(widthBucket(5, 0, 10, 5)), toTypeName(widthBucket(5, 0, 10, 300)) FROM t ORDER BY id;
SELECT widthBucket(5, 0, 10, 0);
SELECT widthBucket(nan, 0, 10, 5);
SELECT widthBucket(dec, 0, 10, 5) FROM t;
SELECT id, widthBucket(f, 0.1, 3.3, 7), widthBucket(i64, -1e12, 1e13, 99999), widthBucket(u8, 1, 255, 255) FROM t ORDER BY id;
