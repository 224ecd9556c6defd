"""Validation of pods: spec, status, subresources, containers, volumes.

After k8s.io/kubernetes/pkg/apis/core/validation. Fidelity only; no new code. Rules that other kinds
share belong in `validation.field`.

Contents: `container_ports`, `containers`, `downward_api_fields`, `environment`,
`extended_claim_status`, `pod_changes`, `pod_dns`, `pod_spec`, `pod_status`, `probes`,
`projected_volumes`, `scheduling_constraints`, `security_context`, `volume_mounts`, `volumes`.
"""
