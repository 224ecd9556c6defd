"""Validation of resource.k8s.io: claims, claim templates, slices, device classes, taint rules.

After k8s.io/kubernetes/pkg/apis/resource/validation. Rules that other API groups share belong in
`validation.field`.
"""
