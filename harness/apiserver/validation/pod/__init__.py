"""Validation of pods: spec, status, subresources, containers, volumes.

After k8s.io/kubernetes/pkg/apis/core/validation. Fidelity only; no new code. Rules that other kinds
share belong in `validation.field`.
"""
