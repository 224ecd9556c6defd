"""Parts of the harness, each by itself."""
