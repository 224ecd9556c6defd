"""Deployments. After k8s.io/kubernetes/pkg/registry/apps/deployment/strategy.go."""

from harness.apiserver.registry.strategies import generic


class DeploymentStrategy(generic.Strategy):
    """Deployments: a write of the status cannot change the labels."""

    metadata_kept_by_status = ("labels",)
    reset_by_status = ("metadata.labels",)
