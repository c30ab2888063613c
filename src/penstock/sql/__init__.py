"""The SQL compiler: ClickHouse SQL (or Spark SQL) in, checked Spark SQL out.

`compile` has the entry points, `query` what they return, `function_catalog` the names the compiler knows; the
sub-packages are its parts, each importing only those below it. Invariant: Spark is sent only functions of the
compiler's own tables; SQL whose result would differ from ClickHouse's is refused.
"""
