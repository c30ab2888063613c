"""Kafka and other connectors of data sources, and the sinks of pipes."""
