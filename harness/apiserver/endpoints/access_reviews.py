"""Reviews of `authentication.k8s.io` and `authorization.k8s.io`, which are not stored.

There is no RBAC: the user of the token may do everything.
"""

from harness.apiserver.endpoints import authentication, resource_requests
from harness.apiserver.scheme.json_document import Document

_USER = authentication.ADMINISTRATOR
_EVERYTHING = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}
_STATUSES: dict[str, Document] = {
    "SelfSubjectReview": {"userInfo": {"username": _USER.name, "groups": list(_USER.groups)}},
    "SelfSubjectRulesReview": _EVERYTHING,
    "TokenReview": {"user": {}, "error": "this server does not review tokens"},
}


def review(request: resource_requests.Create) -> Document:
    """Return the review with its `status` filled in."""
    resource, document = request.target.resource, request.document
    asked = document.get("spec") or {}
    is_allowed = asked.get("user", _USER.name) == _USER.name
    echoed = {} if resource.kind == "SelfSubjectReview" else {"spec": asked}
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": document.get("metadata") or {},
        **echoed,
        "status": _STATUSES.get(resource.kind, {"allowed": is_allowed}),
    }
