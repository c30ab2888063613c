"""ClickHouse's scalar functions in Spark SQL: a family a module, all of them in `table`."""
