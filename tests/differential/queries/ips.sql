-- IPv4 addresses.
SELECT IPv4NumToString(id), IPv4NumToString(toUInt32(4294967295)), IPv4NumToString(u8), IPv4NumToString(u16), IPv4NumToStringClassC(toUInt32(3232235777)), IPv4StringToNum('192.168.1.1'), IPv4StringToNum('0.0.0.0'), IPv4StringToNum('255.255.255.255'), INET_NTOA(toUInt32(16909060)) FROM t;
SELECT v, isIPv4String(v), IPv4StringToNumOrNull(v), IPv4StringToNumOrDefault(v) FROM (SELECT arrayJoin(['1.2.3.4', '', '256.1.1.1', '1.2.3', '1.2.3.4.5', ' 1.2.3.4', '1.2.3.4 ', '1..3.4', 'a.b.c.d', '1.2.3.-4', '::1', '1.2.3.4\n', '255.255.255.255', '10.0.100.200']) AS v);
SELECT IPv4StringToNum('abc');
SELECT IPv4StringToNumOrNull(ns), isIPv4String(ns), IPv4StringToNumOrDefault(s) FROM t;
SELECT v, isIPv4String(v), IPv4StringToNumOrNull(v) FROM (SELECT arrayJoin(['01.2.3.4', '001.2.3.4', '1.2.3.04', '00.0.0.0', '0001.2.3.4']) AS v);
