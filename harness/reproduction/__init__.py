"""Makes a folder for a Kubernetes issue from an INVALID run: the smallest scenario that still
fails.

Runs are executed by `run` and judged by `checks`; campaigns of unchanged scenarios belong to
`campaign`.
"""
