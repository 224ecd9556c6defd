"""The options of a write: what the query says besides the object."""

from harness.apiserver import bodies, requesting, statuses

_VERBS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


def validation(request: requesting.Request) -> bodies.Validation:
    """How the fields of the body are to be checked; 422 when an option is none of those that exist."""
    check(request, _VERBS[request.method])
    return bodies.Validation(request.query.get("fieldValidation", ""))


def check(request: requesting.Request, kind: str) -> None:
    """422 when an option of a write is none of those that exist."""
    causes = []
    dry_run = request.query.get("dryRun")
    if dry_run not in (None, "", "All"):
        message = f'Unsupported value: ["{dry_run}"]: supported values: "All"'
        causes.append(statuses.Cause("FieldValueNotSupported", message, "dryRun"))
    directive = request.query.get("fieldValidation", "")
    if directive not in bodies.DIRECTIVES:
        causes.append(statuses.unsupported("fieldValidation", directive, bodies.DIRECTIVES))
    if causes:
        raise statuses.invalid_options(kind, causes)
