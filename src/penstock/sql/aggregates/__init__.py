"""Aggregate functions and their states, one row a function.

In: names and typed arguments. Out: Spark SQL. Called by spark_types and calls. Invariant: see aggregate.
"""
