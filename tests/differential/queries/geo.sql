-- Geohashes, ellipses, polygons, distances.
SELECT geohashEncode(f, f), geohashEncode(f32, f), geohashEncode(nf, 1.), geohashEncode(f, f32, 5), geohashEncode(f, nf, 1) FROM t;
SELECT geohashEncode(-5.6, 42.6, 5), geohashEncode(200., 100.), geohashEncode(1., 2., 15), geohashEncode(180., 90., 6), geohashEncode(-180., -90.), geohashEncode(toFloat32(1.1), toFloat32(2.2)), geohashEncode(1.1, 2.2, 0), geohashEncode(-0.0001, 0.0001), geohashEncode(-200., -100.), geohashEncode(nan, 0.), geohashEncode(inf, -inf), geohashEncode(-inf, inf), geohashEncode(NULL, 1.);
SELECT geohashEncode(lon, lat), geohashEncode(lon, lat, 7), geohashDecode(geohashEncode(lon, lat, 9)) FROM (SELECT intHash64(number) % 360000 / 1000 - 180 AS lon, intHash64(number + 999) % 180000 / 1000 - 90 AS lat FROM numbers(100));
SELECT geohashDecode(''), geohashDecode('EZS42'), geohashDecode('a'), geohashDecode('ezs42xyz1234zzzz'), geohashDecode('s!'), geohashDecode(s), geohashDecode('é'), geohashDecode('e'), geohashDecode(unhex('00ff41')), geohashDecode('ail0'), geohashDecode(toFixedString('ezs42', 5)), geohashDecode(url), tupleElement(geohashDecode('ezs42'), 'latitude'), geohashDecode('zzzzzzzzzzzz'), geohashDecode('000000000000') FROM t;
SELECT geohashEncode(1, 2);
SELECT geohashEncode('1', 2.);
SELECT geohashDecode(1);
