"""Frozen: no new code. Reviews of `authentication.k8s.io` and `authorization.k8s.io`.

Reviews are not stored. The administrator may do everything and the reader may read everything, so
no RBAC is evaluated.
"""

from harness.apiserver.endpoints import authentication, request_info, resource_requests
from harness.apiserver.scheme.json_document import Document


def review(request: resource_requests.Create, user: authentication.User) -> Document:
    """Return the review with its `status` filled in."""
    resource, document = request.target.resource, request.document
    spec = document.get("spec") or {}
    echoed = {} if resource.kind == "SelfSubjectReview" else {"spec": spec}
    match resource.kind:
        case "SelfSubjectReview":
            status: Document = {"userInfo": {"username": user.name, "groups": list(user.groups)}}
        case "SelfSubjectRulesReview":
            status = _rules(user)
        case "TokenReview":
            status = {"user": {}, "error": "this server does not review tokens"}
        case "SelfSubjectAccessReview":
            status = _access(spec, user)
        case _:
            status = _access(spec, _reviewed_user(spec))
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": document.get("metadata") or {},
        **echoed,
        "status": status,
    }


def _reviewed_user(spec: Document) -> authentication.User:
    """Return the user whom a SubjectAccessReview names; `system:masters` may write."""
    known = (authentication.ADMINISTRATOR, authentication.READER)
    name, groups = spec.get("user", ""), tuple(spec.get("groups") or ())
    unknown = authentication.User(name, groups, may_write="system:masters" in groups)
    return next((user for user in known if user.name == name), unknown)


def _access(spec: Document, user: authentication.User) -> Document:
    attributes = spec.get("resourceAttributes") or spec.get("nonResourceAttributes") or {}
    is_read = attributes.get("verb") in request_info.READING_VERBS
    if user.may_write or (is_read and user.groups == authentication.READER.groups):
        return {"allowed": True}
    return {"allowed": False, "reason": f'no token of user "{user.name}" allows it'}


def _rules(user: authentication.User) -> Document:
    verbs = ["*"] if user.may_write else sorted(request_info.READING_VERBS)
    return {
        "resourceRules": [{"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": verbs, "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }
