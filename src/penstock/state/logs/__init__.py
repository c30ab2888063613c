"""What was done and what was asked, as people read it later: operations, audited actions, calls."""
