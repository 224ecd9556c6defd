"""Which verb a request is, in the words of discovery; 405 for what its resource does not know."""

from harness.apiserver import requesting, statuses

COLLECTION = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
"""The verbs of what is done to a resource, by method."""
OBJECT = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
"""The verbs of what is done to one object of it."""
_SUBRESOURCE = {**OBJECT, "POST": "create"}


def of(method: str, target: requesting.Target) -> str:
    """The verb; 405 when there is no such one."""
    resource = target.resource
    if target.subresource:
        verb, known = _SUBRESOURCE.get(method), resource.subresource(target.subresource).verbs
    elif target.name:
        verb, known = OBJECT.get(method), resource.verbs
    else:
        verb, known = COLLECTION.get(method), resource.verbs
        if resource.namespaced and not target.namespace and verb != "list":
            known = ()  # across namespaces there is nothing but lists
    if verb is None or verb not in known:
        raise statuses.method_not_allowed()
    return verb
