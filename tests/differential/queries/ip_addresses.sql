-- IP addresses and their ranges.
SELECT IPv4NumToString(id), IPv4NumToString(toUInt32(4294967295)), IPv4NumToString(u8), IPv4NumToString(u16), IPv4NumToStringClassC(toUInt32(3232235777)), IPv4StringToNum('192.168.1.1'), IPv4StringToNum('0.0.0.0'), IPv4StringToNum('255.255.255.255'), INET_NTOA(toUInt32(16909060)) FROM t;
SELECT v, isIPv4String(v), IPv4StringToNumOrNull(v), IPv4StringToNumOrDefault(v) FROM (SELECT arrayJoin(['1.2.3.4', '', '256.1.1.1', '1.2.3', '1.2.3.4.5', ' 1.2.3.4', '1.2.3.4 ', '1..3.4', 'a.b.c.d', '1.2.3.-4', '::1', '1.2.3.4\n', '255.255.255.255', '10.0.100.200']) AS v);
SELECT IPv4StringToNum('abc');
SELECT IPv4StringToNumOrNull(ns), isIPv4String(ns), IPv4StringToNumOrDefault(s) FROM t;
SELECT v, isIPv4String(v), IPv4StringToNumOrNull(v) FROM (SELECT arrayJoin(['01.2.3.4', '001.2.3.4', '1.2.3.04', '00.0.0.0', '0001.2.3.4']) AS v);
-- IPv4 and IPv6 values have one text each, and are ordered by their numbers.
SELECT v, toIPv6OrNull(v), isIPv6String(v), hex(IPv6StringToNumOrNull(v)), hex(IPv6StringToNumOrDefault(v)) FROM (SELECT arrayJoin(['1.02.3.4', '::::', ':::1', '1:::', '1::::2', '1:2:::3:4', '1:::1.2.3.4', '::1.2.3.0004', '1:2:3:4:5:6:7:::8', '001.2.3.4', '0.2.3.4', '255.255.255.255', '1:2:3:4:5:6:7:8::', '::1:2:3:4:5:6:7:8:9', '1:2:3:4:5:6::1.2.3.4', '0:0:0:0:0:0:0:1', '::FFFF:1.2.3.4', '1:0:0:2:0:0:0:3', '1:0:0:2:0:0:3:4', '1:0:2:3:4:5:6:7', '0001::', '::ffff:0:1', '::1:0', '64:ff9b::1.2.3.4', '::102:304', '::0.0.1.4', '::1:1:1:1:1:1:1', '1:1:1:1:1:1:1::', '1::2::3', '12345::', ':', '', '1:2:3:4:5:6:7', ' ::1', '::1 ', '1:2:3:4:5:6:7:1.2.3.4', '1.2.3.4::', '::256.1.1.1', ':1::2', '1::2:', '::', '::1\n', '1:2:3:4::5:6:7:8', '::00001.2.3.4', 'abc', 'fe80::1%eth0', '2001:DB8:0:0:8:800:200C:417A', '::ffff:0:0:1.2.3.4', '10::']) AS v);
SELECT v, toIPv4OrNull(v) FROM (SELECT arrayJoin(['00000001.2.3.4', '00001.2.3.4', '0255.2.3.4', '1.2.3.0004', '0001.0002.0003.0004', '000.0.0.1', '1.2.3.4\n', '1.2.3', ' 1.2.3.4', '1.2.3.4.', '', '256.1.1.1', '255.255.255.255', '1..2.3']) AS v);
SELECT toIPv4(v) AS i, row_number() OVER (ORDER BY i DESC) AS r FROM (SELECT arrayJoin(['10.0.0.1', '9.0.0.1', '192.168.0.1', '0.0.0.0', '255.255.255.255']) AS v) ORDER BY i DESC;
SELECT toIPv6(v) AS i, row_number() OVER (ORDER BY i) AS r FROM (SELECT arrayJoin(['::2', '::10', 'ff::', '1000::', '10.0.0.1']) AS v) ORDER BY i;
SELECT min(i) AS a, max(i) AS b, countIf(i < '10.0.0.0') AS c, countIf(i BETWEEN '9.0.0.1' AND toIPv4('10.0.0.1')) AS d, countIf(i = '10.0.0.01') AS e, maxOrNull(i) AS f, min(DISTINCT i) AS g, finalizeAggregation(maxState(i)) AS h FROM (SELECT toIPv4(arrayJoin(['10.0.0.1', '9.0.0.1', '192.168.0.1'])) AS i);
SELECT min(i) AS a, max(i) AS b, countIf(i < '::10') AS c, countIf(i = '0::2') AS d, countIf(i IN ('::2', '10.0.0.1')) AS e FROM (SELECT toIPv6(arrayJoin(['::2', '::10', 'ff::', '10.0.0.1'])) AS i);
SELECT arrayReduce('max', [toIPv4('10.0.0.1'), toIPv4('9.0.0.1')]) AS m;
SELECT toIPv4('1.2.3.4') = 'x';
SELECT IPv6NumToString(IPv6StringToNum('::1')), hex(IPv6StringToNum('1.2.3.4')), hex(IPv4ToIPv6(toUInt32(16909060))), IPv4ToIPv6(toIPv4('1.2.3.4')), IPv6NumToString(toIPv6('::1')), IPv6NumToString(IPv4ToIPv6(id)), IPv6StringToNumOrNull(ns), isIPv6String(ns), INET6_NTOA(INET6_ATON('1:0:0:2::3')) FROM t;
SELECT IPv6StringToNum('x');
SELECT IPv6NumToString('x');
SELECT v, isIPAddressInRange(v, '1.2.3.0/24'), isIPAddressInRange(v, '1.2.3.4/32'), isIPAddressInRange(v, '0.0.0.0/0'), isIPAddressInRange(v, '1.2.2.9/23'), isIPAddressInRange(v, '::/0'), isIPAddressInRange(v, '::ffff:1.2.3.0/120'), isIPAddressInRange(v, 'abcd::/14'), isIPAddressInRange(v, 'abcd::1/128') FROM (SELECT arrayJoin(['1.2.3.4', '1.2.2.4', '1.2.4.1', '::1', '::ffff:1.2.3.4', 'abcd::1', 'abcf:1::', 'abc0::', '255.0.0.1']) AS v);
SELECT isIPAddressInRange('x', '1.2.3.0/24');
SELECT isIPAddressInRange('1.2.3.4', '1.2.3.0');
SELECT isIPAddressInRange('1.2.3.4', '1.2.3.0/33');
SELECT IPv4CIDRToRange(toIPv4('192.168.5.2'), 16) AS a, IPv4CIDRToRange(toIPv4('192.168.5.2'), 0) AS b, IPv4CIDRToRange(toIPv4('192.168.5.2'), 40) AS c, IPv4CIDRToRange(toUInt32(5), 31) AS d, IPv4CIDRToRange(id, 30) AS e FROM t;
-- UUIDs are ordered by their second half first, enumerations by their numbers.
SELECT toUUID(arrayJoin(['00000000-0000-0001-0000-000000000000', '00000000-0000-0000-ffff-000000000000', '10000000-0000-0000-0000-000000000000', 'F0000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-00000000000f', '61f0c4045cb311e7907ba6006ad3dba0'])) AS u ORDER BY u;
SELECT min(u), max(u), minIf(u, u > '00000000-0000-0000-0000-00000000000f'), min(DISTINCT u), maxOrNull(u) FROM (SELECT toUUID(arrayJoin(['00000000-0000-0001-0000-000000000000', '00000000-0000-0000-ffff-000000000000', 'f0000000-0000-0000-0000-000000000000'])) AS u);
SELECT v, toUUIDOrNull(v), hex(UUIDStringToNum(v)) FROM (SELECT arrayJoin(['61f0c4045cb311e7907ba6006ad3dba0', '61f0c404-5cb3-11e7-907b-a6006ad3dba0\n', '61F0C404-5CB3-11e7-907b-a6006ad3dba0', '61f0c404-5cb311e7-907b-a6006ad3dba0', '', '61f0c4045cb311e7907ba6006ad3dba01']) AS v);
SELECT UUIDNumToString(UUIDStringToNum('612f3c40-5d3b-217e-707b-6a546a3d7b29')), UUIDNumToString(toFixedString('a/<@];!~p{jTj={)', 16)), UUIDStringToNum(ns) FROM t;
SELECT CAST(s, 'Enum8(\'y\' = 1, \'x\' = 2, \'z\' = -1)') AS e, e < 'x' AS a, e BETWEEN 'z' AND 'y' AS b FROM (SELECT arrayJoin(['x', 'y', 'z', 'x']) AS s) ORDER BY e DESC;
SELECT min(e), max(e), count() FROM (SELECT CAST(s, 'Enum8(\'y\' = 1, \'x\' = 2, \'z\' = -1)') AS e FROM (SELECT arrayJoin(['x', 'y', 'z', 'x']) AS s));
SELECT toFixedString('a', 3) = 'a' AS a, toFixedString('a', 3) < 'a\0b' AS b, toFixedString('a',2) = toFixedString('a', 3) AS c, toFixedString('a', 3) = materialize('a') AS d, toFixedString('a', 3) < materialize('a\0') AS e, toFixedString('a', 3) IN ('a') AS f;
SELECT IPv6CIDRToRange(toIPv6('2001:0db8:0000:85a3:0000:0000:ac1f:8001'), 32), IPv6CIDRToRange(toIPv6('::1'), 0), IPv6CIDRToRange(toIPv6('::1'), 200), IPv6CIDRToRange(toIPv6('::ffff:1.2.3.4'), 128), IPv6CIDRToRange(toIPv6('2001:db8:abcd:ef12::'), 45), IPv6CIDRToRange(toIPv6('2001:db8:abcd:ef12::'), 63), toTypeName(IPv6CIDRToRange(toIPv6('::1'), 1));

-- Numbers of addresses, and addresses of numbers.
SELECT id, toIPv4(u8) AS a, toUInt32(a), toUInt64(a), a::UInt32, toIPv4(u64), CAST(u16 AS IPv4), toIPv4(b), toIPv4(nullIf(u16, 1)), toUInt32(toIPv4(nullIf(u16, 1))), toUInt32OrDefault(a) FROM t ORDER BY id;
SELECT toUInt8(toIPv4(u8)) FROM t;
SELECT toInt32(toIPv4(u8)) FROM t;
SELECT toIPv4(i32) FROM t;
SELECT toUInt32(toIPv6('::1'));
SELECT id, empty(toIPv4(u8)), notEmpty(toIPv6(if(id > 2, '::', '::1'))), empty(toUUID(if(id > 2, '00000000-0000-0000-0000-000000000000', '61f0c404-5cb3-11e7-907b-a6006ad3dba0'))), empty(toFixedString(lc, 8)), notEmpty(toIPv4(nullIf(u8, 1))) FROM t ORDER BY id;
SELECT arrayFilter(x -> notEmpty(x), [toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), toUUID('00000000-0000-0000-0000-000000000000')]);

-- The digits of addresses; IPv4 beside unsigned integers.
SELECT hex(toIPv4('1.2.3.4')), hex(toIPv4('0.0.0.4')), hex(toIPv4('255.255.255.255')), hex(toIPv4('0.0.0.0')), hex(toIPv6('::1')), hex(toIPv6('2001:db8::1')), hex(toIPv6('1.2.3.4')), bin(toIPv4('1.2.3.4')), bin(toIPv6('2001:db8::1')), hex(toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')), bin(toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'));
SELECT hex(materialize(toIPv4('1.2.3.4'))), hex(toIPv4OrNull('x')), hex(toNullable(toIPv4('10.0.0.1'))), hex(toIPv4(u16)), bin(toIPv4(id)), hex(IPv4ToIPv6(id)), hex(toIPv4(nullIf(u8, 0))), hex(nullIf(toUUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0'), toUUID(if(id = 1, '61f0c404-5cb3-11e7-907b-a6006ad3dba0', '00000000-0000-0000-0000-000000000001')))) FROM t ORDER BY id;
SELECT id, ip = 65535, ip > 5, 5 < ip, ip = id, ip <= u64, ip BETWEEN 1 AND 4000000000, nullIf(ip, toIPv4('0.0.0.0')) >= 255, ip != u8, nullIf(ip, 65535) FROM (SELECT *, toIPv4(u16) AS ip FROM t) ORDER BY id;
SELECT toIPv4('1.2.3.4') = toInt64(16909060);
SELECT CASE toIPv4('1.2.3.4') WHEN 16909060 THEN 1 ELSE 0 END;
SELECT CASE toIPv4(u16) WHEN 16909060 THEN 1 ELSE 0 END FROM t;
SELECT has([toIPv4('1.2.3.4')], 16909060);

-- IPv4 as IPv6.
SELECT toIPv6(toIPv4('1.2.3.4')), CAST(toIPv4('1.2.3.4') AS IPv6), toIPv6(toIPv4OrNull('x')), toIPv6(toNullable(toIPv4('1.2.3.4'))), accurateCastOrNull(toIPv4('1.2.3.4'), 'IPv6');
SELECT id, toIPv6(toIPv4(u16)) AS a, toIPv6(toIPv4(nullIf(id, 2))) FROM t ORDER BY a, id;
SELECT toIPv6OrNull(toIPv4('1.2.3.4'));
