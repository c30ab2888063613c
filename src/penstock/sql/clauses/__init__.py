"""The other clauses of a SELECT, one file for each: WITH, the select list, WHERE, GROUP BY, ORDER BY, LIMIT, UNION."""
