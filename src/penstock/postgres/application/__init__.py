"""Carries migrations into the stores, in the order of a deployment."""
