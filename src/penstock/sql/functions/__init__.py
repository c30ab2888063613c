"""The closed table of scalar functions, a family a file.

In: names. Out: `Function` rows. Called by calls. Invariant: see function.
"""
