-- FixedString: concat and format keep its zero bytes, conversions do not.
SELECT hex(concat(fs, '!')), length(fs || '!'), hex(format('{}|', fs)), hex(concatWithSeparator('-', fs, 'x')), hex(toString(fs) || 'x'), hex(concat(fs, fs)), fs = 'ab', length(fs) FROM (SELECT toFixedString('ab', 4) AS fs);
SELECT toUInt8OrZero(toFixedString('12', 4)), toInt32OrNull(toFixedString('12', 4)), toFloat64OrZero(toFixedString('1.5', 5)), toInt32(toFixedString('12', 4)), toDate(toFixedString('2024-01-01', 12)), toDateTimeOrNull(toFixedString('2024-01-01 00:00:00', 20)), CAST(toFixedString('12', 4) AS UInt8), toDecimal64(toFixedString('1.5', 5), 2);
SELECT fs, count(), max(fs), hex(any(fs)) FROM (SELECT toFixedString(arrayJoin(['ab', 'abc', 'ab']), 4) AS fs) GROUP BY fs ORDER BY fs;
