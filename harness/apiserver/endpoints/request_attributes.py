"""The verb and the target of a request, as Kubernetes' authorization and audit name them."""

import msgspec

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors

COLLECTION_VERBS_BY_METHOD = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
"""Verbs of requests for a collection, by HTTP method."""
OBJECT_VERBS_BY_METHOD = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
"""Verbs of requests for one object, by HTTP method."""
_SUBRESOURCE_VERBS_BY_METHOD = {**OBJECT_VERBS_BY_METHOD, "POST": "create"}

READING_VERBS = frozenset({"get", "list", "watch", "head", "options"})
_OBJECT_VERBS = {**OBJECT_VERBS_BY_METHOD, "HEAD": "get"}
_COLLECTION_VERBS = {**COLLECTION_VERBS_BY_METHOD, "HEAD": "list"}


class Attributes(msgspec.Struct, frozen=True):
    """The attributes of a request. After k8s.io/apiserver/pkg/authorization/authorizer."""

    verb: str
    path: str
    target: request_info.Target | None
    """None for a non-resource path."""

    @property
    def is_read(self) -> bool:
        """True if the verb changes nothing."""
        return self.verb in READING_VERBS

    @property
    def name(self) -> str:
        """The object's name in the path, "" if there is none."""
        return self.target.name if self.target else ""


def of(request: request_info.Request) -> Attributes:
    """Return the attributes of a request; the verb of a non-resource path is its method."""
    target = request_info.parse_target(request.path)
    if target is None:
        return Attributes(request.method.lower(), request.path, None)
    if request.method == "POST":
        verb = "create"
    elif request_info.is_watch(request, target):
        verb = "watch"
    else:
        known = _OBJECT_VERBS if target.name else _COLLECTION_VERBS
        verb = known.get(request.method, request.method.lower())
    return Attributes(verb, request.path, target)


def verb_of(method: str, target: request_info.Target) -> str:
    """Return the verb of a method on a target. Raises 405 if the resource does not support it."""
    resource = target.resource
    supported = resource.verbs
    if target.subresource:
        verb = _SUBRESOURCE_VERBS_BY_METHOD.get(method)
        supported = resource.subresource(target.subresource).verbs
    elif target.name:
        verb = OBJECT_VERBS_BY_METHOD.get(method)
    else:
        verb = COLLECTION_VERBS_BY_METHOD.get(method)
        if resource.namespaced and not target.namespace and verb != "list":
            supported = ()  # across namespaces, objects can only be listed
    if verb is None or verb not in supported:
        raise status_errors.method_not_allowed()
    return verb
