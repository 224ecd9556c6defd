"""Validation of pods: what schedulers, claims and kubelets depend on.

After k8s.io/kubernetes/pkg/apis/core/validation. Other fields of pods are accepted unchecked:
docs/real-kubernetes.md lists them. Rules that other kinds share belong in `validation.field`.
"""
