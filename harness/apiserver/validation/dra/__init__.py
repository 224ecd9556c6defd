"""Validation of resource.k8s.io: claims, claim templates, slices, device classes, taint rules.

After k8s.io/kubernetes/pkg/apis/resource/validation. Rules that other API groups share belong in
`validation.field`.

Contents: `claim_status`, `device_capacity`, `device_classes`, `device_requests`, `device_taints`,
`dra_names`, `resource_claims`, `resource_slices`, `slice_devices`.
"""
