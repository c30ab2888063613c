"""Distances on the Earth and geohashes."""
