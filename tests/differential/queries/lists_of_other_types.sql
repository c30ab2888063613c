-- Elements of IN that ClickHouse does not convert to the type of the value, and texts with more than a day beside a Date.
SELECT dec IN (99999999) FROM t;
SELECT dec IN (100000000) FROM t;
SELECT (dec, 1) IN ((100000000, 1)) FROM t;
SELECT f IN (toDecimal32(1.5, 1)) FROM t;
SELECT u8 IN (toDecimal32(1.5, 1), 7) FROM t;
SELECT f IN (1.5::Decimal(9, 2)) FROM t;
SELECT b IN (1), b IN (true, false), u8 IN (b) FROM t;
SELECT toFixedString('ab', 2) IN ('ab', 'cd'), toFixedString('ab', 2) IN ('a');
SELECT toFixedString('ab', 2) IN ('abc');
SELECT toFixedString('ab', 2) IN (toDate('2024-02-29'));
SELECT d > '2024-01-01 00:00:00' FROM t;
SELECT d IN ('2024-02-29 00:00:00') FROM t;
SELECT d BETWEEN '2024-01-01' AND '2024-12-31 23:59:59' FROM t;
SELECT d > '2024-01-01', t > '2024-01-01', t > '2024-01-01 00:00:00', d = '2024-02-29' FROM t;
SELECT CASE u8 WHEN nan THEN 1 ELSE 0 END FROM t;
