"""Endpoints that answer by a function in Python: the processes in which it runs, and the queries that it asks."""
