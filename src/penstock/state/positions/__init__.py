"""How far sources outside of this server have been stored."""
