"""Known defects of PreBind: what is written, awaited and reserved before a pod is bound.

Contents: `conditions_not_awaited`, `extended_claim_not_awaited`, `extended_claim_not_recorded`,
`finalizer_not_added`, `pods_bound_wrongly`.
"""
