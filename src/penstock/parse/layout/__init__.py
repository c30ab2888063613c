"""The canonical layout of datafiles."""
