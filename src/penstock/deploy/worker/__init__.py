"""A second Spark process, which fills large or slow tables without hurting the live deployment."""
