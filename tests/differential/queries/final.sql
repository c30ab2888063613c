-- FINAL where nothing merges is refused by both; what engines merge is in test_final.py.
SELECT id FROM t FINAL;
SELECT a.id FROM t AS a FINAL JOIN t AS b ON a.id = b.id;
SELECT * FROM (SELECT id FROM t) FINAL;
SELECT number FROM numbers(3) FINAL;
