"""Tidies up behind the flows: few files, few snapshots, no expired rows, no file that nobody needs."""
