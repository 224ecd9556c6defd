"""The strategies: what the server does with the objects of each kind.

`generic` has the base class, which serves the kinds without a module here;
`registry.resource_strategies` finds the strategy of a resource. Rules about single fields belong in
`validation`, the types' defaults in `scheme`, and checks that read other objects in `admission`.

After k8s.io/apiserver/pkg/registry/rest and the `strategy.go` of each resource in
k8s.io/kubernetes/pkg/registry.
"""
