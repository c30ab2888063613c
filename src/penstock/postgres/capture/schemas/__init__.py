"""How tables were described at each place of the log, and the schemas that their rows have there."""
