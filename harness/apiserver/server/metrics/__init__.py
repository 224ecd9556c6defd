"""`/metrics`: what the server counts of its requests, and the text with kube-apiserver's names.

Contents: `request_metrics`, `server_families`.
"""
