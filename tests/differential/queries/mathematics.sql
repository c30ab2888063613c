-- Roots, logarithms, powers, hyperbolic functions.
SELECT sinh(f), cosh(f), tanh(f), asinh(f), log1p(abs(f)), exp2(f), exp10(f), hypot(f, i32), atan2(f, i32) FROM t;
SELECT sinh(nf), cosh(f32), tanh(dec), asinh(-1e9), asinh(1e-10), asinh(-1e200), asinh(inf), asinh(-inf), asinh(nan), acosh(1), acosh(0.5), acosh(1.0000001), acosh(1.5), acosh(3), acosh(1e300), acosh(inf), acosh(nan), atanh(0.3), atanh(-0.9), atanh(1), atanh(-1), atanh(2), atanh(1e-12), atanh(nan), log1p(-1), log1p(-2), log1p(1e-15), log1p(nan), log1p(inf) FROM t;
SELECT asinh(nf), acosh(nf), atanh(nf), log1p(nf), exp2(ni), exp10(ni), hypot(nf, 1), atan2(nf, ni), hypot(inf, nan), atan2(0, -1), atan2(-0., -1), atan2(inf, inf), exp10(308), exp10(400), exp10(-400), exp2(1024), exp2(-1080), exp2(0.5), exp10(3), exp10(-3), exp10(22), exp10(0.3), exp2(nan), asinh(-0.) FROM t;
SELECT atan2(-0., -1), atan2(0., -0.), atan2(-0., 0.), atan2(-0., -0.), atan2(0., nan), atan2(nan, 0.), atan2(f, -0.), atan2(1, -0.) FROM t;
SELECT id, sqrt(u8), exp(u8 % 5), log(u8), log2(u8), log10(u8), pow(u8, 2), isNaN(f), isFinite(f), isInfinite(f / 0), cbrt(u8) FROM t;
SELECT pow(1, x), pow(-1, x), pow(x, 0), pow(x, 1), pow(1, toNullable(x)), pow(toNullable(1), NULL), pow(x, x), LinfNorm([x, 1]), LinfNorm([1, x]), LinfDistance([x, 2], [1, x]) FROM (SELECT arrayJoin([nan, inf, -inf, 0, 2.5]) AS x);
