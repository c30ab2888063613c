"""Compares two running versions at one cut."""
