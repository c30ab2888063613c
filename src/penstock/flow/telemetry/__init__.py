"""What the parts of a server tell of their work: log lines, spans, times of steps."""
