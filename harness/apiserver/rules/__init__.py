"""What an object must be to be stored: one module for each part of the API, as generators of causes.

Each rule yields `statuses.Cause` in the server's own order and wording; `validating` runs the rules of a kind. Rules look at documents
only: they change nothing, know no store, and never check that a device is in one claim only (that is what this project is for).

resource.k8s.io and metadata are checked completely. Of pods: containers (names, images, resources, claims), claims, policies, gates,
node, what may change, ephemeral containers and resizing, and of their status conditions, claims, class, nominated node and restarts;
not volumes, probes, ports, addresses, affinity and security contexts. Of nodes: taints and provider. Leases, events,
ConfigMaps and Secrets are checked as the server does. Other kinds: metadata only. Costs of CEL expressions follow the server's model,
not its every special case: near the limit of a million the two may disagree.
"""
