"""Geohashes, and distances on the Earth."""
