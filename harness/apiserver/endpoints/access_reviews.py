"""Questions about who one is and what one may do, which have answers and leave nothing behind.

Whoever has a token of the server may do everything, or read everything: the answers say just that.
"""

from typing import Any

from harness.apiserver import attributes, authenticating, resources

Document = dict[str, Any]


def answer(
    resource: resources.ResourceType, document: Document, user: authenticating.User
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


def _user(user: authenticating.User) -> Document:
    return {"username": user.name, "groups": list(user.groups)}


def _somebody(spec: Document) -> authenticating.User:
    """The user that another one asks about."""
    known = (authenticating.ADMINISTRATOR, authenticating.READER)
    name, groups = spec.get("user", ""), tuple(spec.get("groups") or ())
    nobody = authenticating.User(name, groups, may_write="system:masters" in groups)
    return next((user for user in known if user.name == name), nobody)


def _access(spec: Document, user: authenticating.User) -> Document:
    asked = spec.get("resourceAttributes") or spec.get("nonResourceAttributes") or {}
    may_read = user.may_write or user.groups == authenticating.READER.groups
    if user.may_write or (may_read and asked.get("verb") in attributes.READING_VERBS):
        return {"allowed": True}
    return {"allowed": False, "reason": f"{user.name or 'nobody'} has no token that allows it"}


def _rules(user: authenticating.User) -> Document:
    verbs = ["*"] if user.may_write else sorted(attributes.READING_VERBS)
    return {
        "resourceRules": [{"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}],
        "nonResourceRules": [{"verbs": verbs, "nonResourceURLs": ["*"]}],
        "incomplete": False,
    }
