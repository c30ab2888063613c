"""What all calls share: access, bodies, parameters, answer formats and error responses."""
