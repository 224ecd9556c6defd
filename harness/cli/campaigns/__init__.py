"""The command about many runs on this machine, `hunt`, and its options."""
