-- hex, base64 and XML.
SELECT hex(u8), hex(i8), hex(u16), hex(u64), hex(i32), hex(i64), hex(ni), hex(b), hex(s), hex(ns), bin(u8), bin(i8), bin(u16), bin(u64), bin(i32), bin(i64), bin(s), bin(ns), bin(lc) FROM t;
SELECT hex(255), hex(0), hex(-1), hex(256), hex(''), bin(5), bin(0), bin(256), bin('ab'), bin(-1), hex(toFixedString('a', 3)), hex('a\0'), unhex('616'), unhex('6162'), unhex(''), unhex(hex(s)), hex(unhex('fF00')) FROM t;
SELECT base64Encode(s), base64Encode('a\0b'), base64Decode(base64Encode(s)), base64URLEncode('a?>'), base64URLEncode('a'), base64URLEncode(s), base64URLDecode('YT8-'), base64URLDecode('YQ'), base64URLDecode('YQ=='), base64URLDecode(base64URLEncode(s)), base64Decode(''), base64Decode('YQ==\n'), base64Encode(ns), base64Decode(base64Encode(ns)), TO_BASE64(s), tryBase64Decode(ns) FROM t;
SELECT tryBase64Decode('!!'), tryBase64Decode('YQ'), tryBase64Decode('YQ='), tryBase64Decode('YR=='), tryBase64Decode('Y Q = ='), tryBase64Decode('YWJj YWJj'), tryBase64Decode('Y-=='), tryBase64URLDecode('Y+=='), tryBase64URLDecode('YR'), tryBase64Decode('Y'), tryBase64Decode('=='), tryBase64Decode('YWJjYQ==YWJj'), tryBase64Decode('\vYQ=='), tryBase64URLDecode('YQ='), tryBase64URLDecode('YWI'), tryBase64URLDecode('YWI='), tryBase64URLDecode('!'), tryBase64Decode('');
SELECT base64Decode('!!');
SELECT base64Decode('YQ');
SELECT base64Decode(s) FROM t;
SELECT base64URLDecode('Y');
SELECT encodeXMLComponent('<a b="c">&\''), encodeXMLComponent(s), char(104, 101), hex(char(256)), hex(char(-1)), hex(char(u8, 65)), hex(char(ni)), ascii(s), ascii('é'), ascii(''), ascii(ns), isValidUTF8(s), isValidUTF8(unhex('ff')), isASCII(s), isASCII('a\nb\0'), isASCII(unhex('ff')), basename('/a/b.c'), basename('a\\b'), basename('/a/'), basename('a/b\nc/d'), basename(url), firstLine('a\nb'), firstLine('a\r\nb'), firstLine('\na'), firstLine(s) FROM t;
SELECT base64Decode(base64Encode('日本 😀!')), tryBase64Decode('5pel5pysIPCfmIAh'), base64URLDecode('fn5-'), tryBase64URLDecode('ff__'), hex(base64Decode('ffff')), base64Decode('aGVs\fbG8='), base64Decode('aGVs bG\t8\n='), tryBase64Decode('aGVsbG8'), base64Decode(base64Encode(s)), base64URLDecode(base64URLEncode(s)) FROM t;
