"""What compiled Spark SQL reads, gives and may raise, and compiled Spark SQL cut down to what is wanted."""
