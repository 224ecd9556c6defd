"""Commands about campaigns over machines: `plan` and `merge`, and `hunt` with `--plan`.

Contents: `merge_command`, `plan_command`, `planned_hunts`.
"""
