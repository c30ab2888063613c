"""DataFrames that record what a view does with them, and give it as one SELECT of Spark SQL.

In: a user's function over DataFrames. Out: SQL. Invariant: no Spark runs and no row is read here; what cannot be
written exactly as SQL is refused at the user's line.
"""
