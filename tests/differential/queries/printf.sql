-- Values in the places of a format, as C writes them.
SELECT printf('%d', 5), printf('%5d|%-5d|%05d|%+d|% d', 5, 5, 5, 5, 5), printf('%d', -7), printf('%5d', toInt8(-7)), printf('%05d', -7), printf('%i', 5), printf('%-05d|%+ d|%ld', 5, 6, 7);
SELECT printf('%d', toUInt64(18446744073709551615)), printf('%d', toInt64(-9223372036854775808)), printf('%s', 'x'), printf('%f', 5.5), printf('%.2f', 2.675), printf('%.0f', 0.5), printf('%.0f', 1.5), printf('%8.3f|%-8.2f|%08.2f|%+.1f|% .1f', 1.5, 1.5, -1.5, 1.5, 1.5), printf('%.2f', toFloat32(0.1)), printf('%.10f', toFloat32(0.1)), printf('%f|%08f|%8f|%-8f|%+f', nan, nan, nan, inf, inf), printf('%.1f', -inf), printf('%.2f', -0.001), printf('%.3f', 1e22);
SELECT printf('%x|%X|%04x', 255, 255, 10), printf('%x', -1), printf('100%%'), printf('100%% of %d', 5), printf('%d%%', 5), printf('%d %s %f', 1, 'a', 2.5), printf('no args'), printf('%d', NULL), printf('%d', true), printf('%s and %s', 'a', 'b'), printf('%2d:%02d', 3, 4), printf('%3d%%', 42), printf('\n%d\t''', 1);
SELECT id, printf('%05d', id), printf('%.1f', toFloat64(id)), printf('%s!', s), printf('%s %d', ns, nullIf(id, 2)), printf('%d', u64), printf('%10.4f', f) FROM t ORDER BY id;
SELECT printf('%s', 5);
SELECT printf('%d', 'x');
SELECT printf('%d', 5.5);
SELECT printf('%f', 5);
SELECT printf('%d');
SELECT printf('%d', 1, 2);
SELECT printf('%', 1);
SELECT printf('%F', 1.5) LIKE 'x', printf('%T', 1.5);
SELECT printf('');
SELECT printf('%s', toDecimal64(1.5, 2));
SELECT printf('%s', toDate('2024-01-01'));
