"""Capabilities of clusters on kind, without the Docker SDK."""

from harness.cluster import interfaces
from harness.scenario import profiles


def of_profile(profile: profiles.KindProfile) -> interfaces.Capabilities:
    """Return the capabilities of a complete Kubernetes cluster for one run only."""
    return interfaces.Capabilities(
        scheduler=True,
        claim_controller=profile.claim_controller,
        service_accounts=True,
        restarts_api_server=True,
    )
