"""The command line: a thin HTTP client of the server that starts without Spark."""
