"""Penstock: change a running Spark data pipeline without stopping it."""

__version__ = "0.1.0"
