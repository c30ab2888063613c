"""Spark SQL for the columns of a data source: their default expressions and the merge rule of its engine."""
