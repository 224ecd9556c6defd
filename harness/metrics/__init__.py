"""Metrics of a process, and the small HTTP server that shows them.

The metrics themselves belong to the part that counts; here are only families, their text form, and
`/metrics` and `/healthz`.
"""
