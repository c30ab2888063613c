"""Files of the format's former version, which `penstock migrate` converts."""
