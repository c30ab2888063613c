"""Commands that start, stop, save, watch and protect a server."""
