"""Runs asked by SQL: `flake-hunt query`, and the second judge of `flake-hunt check`."""
