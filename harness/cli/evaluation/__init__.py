"""Commands about rates of many runs: how many are needed, and how rates change over nights."""
