"""What the server does with the objects of each kind: one strategy for each, in a module named after the kind.

After k8s.io/apiserver/pkg/registry/rest and the `strategy.go` of each resource in k8s.io/kubernetes/pkg/registry. `generic` has the
base class, which serves all kinds without a module here; `registry.resource_strategies` finds the strategy of a resource. Rules about
single fields belong in `validation`, the types' defaults in `scheme`, and changes that depend on other objects in `admission`.
"""
