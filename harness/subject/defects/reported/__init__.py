"""Defects that were reported of Kubernetes, or of schedulers that reuse its DRA plugin."""
