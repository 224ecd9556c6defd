"""Questions about who one is and what one may do, which have answers and leave nothing behind.

Whoever has a token of the server may do everything, or read everything: the answers say just that.
"""

from harness.apiserver.endpoints import authentication, request_attributes
from harness.apiserver.scheme import resources
from harness.apiserver.scheme.json_document import Document


def answer(
    resource: resources.ResourceType, document: Document, user: authentication.User
) -> Document:
    """The review with its status."""
    spec = document.get("spec") or {}
    asked = {} if resource.kind == "SelfSubjectReview" else {"spec": spec}
    match resource.kind:
        case "SelfSubjectReview":
            status: Document = {"userInfo": _user(user)}
        case "SelfSubjectRulesReview":
            status = _rules(user)
        case "TokenReview":
            status = {"user": {}, "error": "the server reviews no tokens"}
        case "SelfSubjectAccessReview":
            status = _access(spec, user)
        case _:
            status = _access(spec, _somebody(spec))
    return {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": document.get("metadata") or {},
        **asked,
        "status": status,
    }


def _user(user: authentication.User) -> Document:
    return {"username": user.name, "groups": list(user.groups)}


def _somebody(spec: Document) -> authentication.User:
    """The user that another one asks about."""
    known = (authentication.ADMINISTRATOR, authentication.READER)
    name, groups = spec.get("user", ""), tuple(spec.get("groups") or ())
    nobody = authentication.User(name, groups, may_write="system:masters" in groups)
    return next((user for user in known if user.name == name), nobody)


def _access(spec: Document, user: authentication.User) -> Document:
    asked = spec.get("resourceAttributes") or spec.get("nonResourceAttributes") or {}
    may_read = user.may_write or user.groups == authentication.READER.groups
    if user.may_write or (may_read and asked.get("verb") in request_attributes.READING_VERBS):
        return {"allowed": True}
    return {"allowed": False, "reason": f"{user.name or 'nobody'} has no token that allows it"}


def _rules(user: authentication.User) -> Document:
    verbs = ["*"] if user.may_write else sorted(request_attributes.READING_VERBS)
    return {
        "resourceRules": [{"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": verbs, "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }
