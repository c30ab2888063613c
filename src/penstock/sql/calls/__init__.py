"""Calls in expressions: scalar and aggregate functions, special forms, lambdas, windows, subqueries."""
