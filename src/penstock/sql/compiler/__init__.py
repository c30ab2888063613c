"""State of compiling one SELECT: names in scope, environment, clauses, and the translator of expressions."""
