-- Limits of the date and time types, and comparisons with values beyond them.
SELECT d > '1960-01-01', d < '2200-01-01', toDate('1960-01-01'), toDate('2200-01-01'), toDateTime('1960-01-01 00:00:00'), toDateTime('2200-01-01 00:00:00'), toDate('2024-02-30'), toDate('2024-2-9'), toDate('20240229') FROM t;
SELECT t > '1960-01-01 00:00:00' FROM t;
SELECT toDateTime(toDate('2149-06-06'));
SELECT toDateTime(toDate32('2200-01-01')), toDateTime(toDate('2149-06-06')), toDateTime64(toDate32('2200-01-01'), 3);
SELECT t > '1960-01-01 00:00:00', toDateTime64OrNull('', 3) FROM t;
