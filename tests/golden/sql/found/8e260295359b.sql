-- Seed 1475.
SELECT map(atanh(1e10 = 7), '2024-03-10 07:30:00') AS c1 FROM t;
