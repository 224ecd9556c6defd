"""Frozen: no new code. Features of pods, evictions and autoscalers that no scheduler needs.

They stay because kubectl, client-go or the recorded conversations use them: disruption budgets,
`ephemeralcontainers` and `resize`, RuntimeClass admission, and HorizontalPodAutoscalers of v1,
which discovery lists. Frozen as well, in `endpoints`: `access_reviews` and `scale`.
"""
