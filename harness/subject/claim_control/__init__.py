"""The ResourceClaim controller: it creates claims from templates, and releases those of ended pods.

The scheduler and its plugin do not belong here, nor does what a release of Kubernetes does
differently: that is in `releases`.

Contents: `claim_controllers`, `controller_contexts`, `controller_metrics`, `controller_parts`,
`created_claims`, `enqueuing`, `event_recording`, `feature_gates`, `generating`, `pod_claims`,
`pod_syncing`, `releasing`, `work_queues`.
"""
