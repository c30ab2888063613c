"""ClickHouse or Spark SQL in, analysed Spark SQL out: `compile` has the calls, the rest are its parts.

In: a project and a SQL text. Out: the frozen values of `query`. Called by plan, deploy and serve.
Invariant: nothing reaches Spark that the function table does not know; what differs is refused.
"""
