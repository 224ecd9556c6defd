"""Validation of pods: what schedulers, claims and kubelets depend on.

After k8s.io/kubernetes/pkg/apis/core/validation. Other fields of pods are accepted unchecked, as
docs/reference/embedded-api-server.md says. Rules that other kinds share belong in
`validation.field`.
"""
