"""Rows from topics of Kafka."""
