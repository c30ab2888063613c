"""Random queries that are driven by types: which calls of a function compile says the compiler itself."""
