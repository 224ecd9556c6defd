"""The ResourceClaim controller: it creates claims from templates, and releases those of ended pods.

The scheduler and its plugin do not belong here, nor does what a release of Kubernetes does
differently: that is in `releases`.
"""
