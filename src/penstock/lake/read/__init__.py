"""Reading tables through bindings, merged as FINAL, in slices of a history, and queries over them."""
