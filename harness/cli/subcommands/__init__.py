"""One module for each subcommand, or for two that go together: its options and its exit code."""
