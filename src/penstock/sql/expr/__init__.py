"""Typed pieces of Spark SQL, and the formulas that all parts of the compiler share."""
