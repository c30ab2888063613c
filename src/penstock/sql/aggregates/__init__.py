"""Aggregate functions: how the state of each one is made, merged, read and stored.

`aggregate` defines a function as one row of a table, `table` is that table, and each other module holds one family of
functions; `combinators` make new rows of a row, and `name_parser` reads names such as avgIfState. Invariant: see
`aggregate`.
"""
