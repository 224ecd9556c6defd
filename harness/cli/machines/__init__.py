"""Commands about campaigns over machines: `plan` and `merge`, and `hunt` with `--plan`."""
