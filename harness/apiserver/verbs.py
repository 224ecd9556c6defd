"""Which verb a request is, in the words of discovery; 405 for what its resource does not know."""

from harness.apiserver import requesting, statuses

_COLLECTION = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_OBJECT = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_SUBRESOURCE = {**_OBJECT, "POST": "create"}


def of(method: str, target: requesting.Target) -> str:
    """The verb; 405 when there is no such one."""
    resource = target.resource
    if target.subresource:
        verb, known = _SUBRESOURCE.get(method), resource.subresource(target.subresource).verbs
    elif target.name:
        verb, known = _OBJECT.get(method), resource.verbs
    else:
        verb, known = _COLLECTION.get(method), resource.verbs
        if resource.namespaced and not target.namespace and verb != "list":
            known = ()  # across namespaces there is nothing but lists
    if verb is None or verb not in known:
        raise statuses.method_not_allowed()
    return verb
