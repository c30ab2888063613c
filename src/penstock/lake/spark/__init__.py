"""The Spark session, its catalog and jars, cancelled work and readable errors."""
