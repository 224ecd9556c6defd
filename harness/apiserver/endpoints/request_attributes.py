"""What a request is about, in the words of Kubernetes' authorization and audit: a verb and what it is done to."""

import dataclasses

from harness.apiserver.endpoints import request_info
from harness.apiserver.errors import status_errors

COLLECTION_VERBS_BY_METHOD = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
"""The verbs of what is done to a resource, by method."""
OBJECT_VERBS_BY_METHOD = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
"""The verbs of what is done to one object of it."""
_SUBRESOURCE_VERBS_BY_METHOD = {**OBJECT_VERBS_BY_METHOD, "POST": "create"}

READING_VERBS = frozenset({"get", "list", "watch", "head", "options"})
_OBJECT_VERBS = {**OBJECT_VERBS_BY_METHOD, "HEAD": "get"}
_COLLECTION_VERBS = {**COLLECTION_VERBS_BY_METHOD, "HEAD": "list"}


@dataclasses.dataclass(frozen=True, slots=True)
class Attributes:
    """A verb and, unless the path is of another kind, the target of it."""

    verb: str
    path: str
    target: request_info.Target | None

    @property
    def is_read(self) -> bool:
        """Whether it changes nothing."""
        return self.verb in READING_VERBS

    @property
    def name(self) -> str:
        """The object's name as the path says it."""
        return self.target.name if self.target else ""


def of(request: request_info.Request) -> Attributes:
    """What a request is about."""
    target = request_info.parse_target(request.path)
    if target is None:
        return Attributes(request.method.lower(), request.path, None)
    if request.method == "POST":
        verb = "create"
    elif request_info.watched(request):
        verb = "watch"
    else:
        known = _OBJECT_VERBS if target.name else _COLLECTION_VERBS
        verb = known.get(request.method, request.method.lower())
    return Attributes(verb, request.path, target)


def verb_of(method: str, target: request_info.Target) -> str:
    """The verb; 405 when there is no such one."""
    resource = target.resource
    if target.subresource:
        verb, known = (
            _SUBRESOURCE_VERBS_BY_METHOD.get(method),
            resource.subresource(target.subresource).verbs,
        )
    elif target.name:
        verb, known = OBJECT_VERBS_BY_METHOD.get(method), resource.verbs
    else:
        verb, known = COLLECTION_VERBS_BY_METHOD.get(method), resource.verbs
        if resource.namespaced and not target.namespace and verb != "list":
            known = ()  # across namespaces there is nothing but lists
    if verb is None or verb not in known:
        raise status_errors.method_not_allowed()
    return verb
