"""How what is outside of this server is reached."""
