"""Real Kubernetes by the kind command and a container engine: start, verify, explain failures, remove.

What other providers do belongs in their own modules; what was made is recorded by `cluster_records`.
"""
