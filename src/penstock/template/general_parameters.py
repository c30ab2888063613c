"""The parameters that every call over HTTP takes, whatever it asks.

Out: their names. Invariant: no parameter of an endpoint can have one of them, since its value would not get there.
"""

from __future__ import annotations

DEPLOYMENT = ("deployment", "__tb__deployment")
QUOTE_DENORMALS = "output_format_json_quote_denormals"
"""ClickHouse's setting by which inf and nan are texts in JSON, not null."""
GENERAL_PARAMETERS = frozenset({*DEPLOYMENT, "token", QUOTE_DENORMALS})
EXPLAIN = "explain"
"""The parameter of an endpoint's call that asks for what it would run, unless the endpoint has one of this name."""
