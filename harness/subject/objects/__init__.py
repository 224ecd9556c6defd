"""API objects as the subject reads and writes them: claims, those of a pod, and nodes.

Memory of them does not belong here (`tracking`).
"""
