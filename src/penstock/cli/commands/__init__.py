"""One module a command; each is named as its command."""
