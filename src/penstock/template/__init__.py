"""Templates: SQL that begins with `%`, in Tornado's syntax, run by an evaluator of our own.

In: the text of a template and the parameters of a call. Out: SQL with a map of places. Called by parse, sql,
plan, deploy and serve. Invariant: nothing of a template is ever given to Python to run, and a value gets into
the SQL only as a literal or a quoted name.
"""
