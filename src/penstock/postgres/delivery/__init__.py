"""Where packages go: stores and brokers."""
