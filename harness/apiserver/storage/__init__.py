"""Stored objects, their tables, the history that watches read, and selectors.

Nothing here decides whether a write is allowed: that belongs in `registry`. Nothing here is written
to disk: see `persistence`. After k8s.io/apiserver/pkg/storage.
"""
