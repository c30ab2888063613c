"""State while one SELECT is compiled: names in scope, environment, clauses, and the translator of expressions."""
