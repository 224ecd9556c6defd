"""Commands about runs inside one process: `explore` and `replay`."""
