"""Pieces of Spark SQL with their types, and the formulas that every part of the compiler uses."""
