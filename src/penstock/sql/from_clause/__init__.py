"""FROM: tables, subqueries, table functions, SAMPLE, ARRAY JOIN and JOIN."""
