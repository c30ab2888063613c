"""What somebody else did to a table: the recorded table against the observed one."""
