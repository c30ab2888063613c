-- The text of arrays, tuples and maps.
SELECT toString([1,2]), toString(['a','b\'c\\d\n\t']), toString([1.5, nan, inf, -0.]), toString([NULL, 1]), toString([[1],[2,3]]), toString([toDate('2020-01-01')]), toString([toDateTime('2020-01-01 00:00:00','UTC')]), toString([true,false]), toString([toDecimal32(1.50,2)]), toString([]), toString([generateUUIDv4()]) != '', toString([toIPv4('1.2.3.4')]), toString([CAST('a' AS Enum8('a'=1))]), toString([toFixedString('a',3)]);
SELECT toString((1,'a',NULL)), toString((1,)), toString(map('a',1,'b',2)), toString(map(1,'x')), toString(map('k',[1,2])), toString((1,(2,'x'),[3])), toString(map(toDate('2020-01-01'), 1.5)), toString(tuple('é','\0')), toString(CAST((1,2) AS Tuple(a UInt8, b UInt8))), toString(toDateTime64('2020-01-01 00:00:00.123',3,'UTC')), toString([toDateTime64('2020-01-01 00:00:00.123',3,'UTC')]);
SELECT toTypeName(toString([1])), CAST([1,2] AS String), concat([1,2], 'x'), format('{}', [1]), toString([toNullable('a'), NULL]), [1,2]::String;
SELECT toString(['a\'b']), toString(['\b\f\r\n\t\0\a\v\\\'"`']), hex(toString(['\b\f\r\n\t\0\a\v\\\'"`']));
SELECT toString([toFloat32(0.1)]), toString([1e20, 1e21, 1e-7]);
