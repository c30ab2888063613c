"""Templates: SQL that begins with `%`, in the syntax of Tornado templates, evaluated by code of our own.

In: the text of a template and the parameters of a call. Out: SQL, and a map from it back to the template.
Invariant: no text of a template is ever given to Python to run, and a value gets into the SQL only as a literal or
as a quoted name.
"""
