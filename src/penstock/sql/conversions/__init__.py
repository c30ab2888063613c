"""Conversions between types: explicit, implicit, of literals, and those of INSERT."""
