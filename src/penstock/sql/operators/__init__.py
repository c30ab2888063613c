"""Translation of operators, literals, names and ORDER BY keys."""
