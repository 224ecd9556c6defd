"""The ResourceClaim controller: it creates claims from templates, and releases those of ended pods.

The scheduler and its plugin do not belong here.

Contents: `claim_controllers`, `created_claims`, `generating`, `releasing`, `work_queues`.
"""
