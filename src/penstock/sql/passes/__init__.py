"""The steps that turn one SELECT into Spark SQL, a concern a file; `transpile.PASSES` has their order.

In: a Block. Out: a Block. Called by transpile. Invariant: a pass fills in its own fields only.
"""
