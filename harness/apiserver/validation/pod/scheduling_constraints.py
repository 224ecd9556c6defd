"""Affinity, topology spread constraints and tolerations of pods."""

from collections.abc import Iterator, Sequence

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats, selector_rules

WEIGHT_MAX = 100
"""The largest weight of a preferred term."""
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TOLERATION_OPERATORS = ("Equal", "Exists")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_POLICIES = ("Honor", "Ignore")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_IN_BOTH = "exists in both matchLabelKeys and labelSelector"
_NO_SELECTOR = "must not be specified when labelSelector is not set"


def affinity(document: Document, at: str) -> Iterator[Cause]:
    """Validate node affinity, pod affinity and pod anti-affinity."""
    if nodes := document.get("nodeAffinity"):
        yield from _nodes(nodes, f"{at}.nodeAffinity")
    for key in ("podAffinity", "podAntiAffinity"):
        if pods := document.get(key):
            yield from _pods(pods, f"{at}.{key}")


def topology_spread(constraints: list[Document], at: str) -> Iterator[Cause]:
    """Validate topology spread constraints; topology key and action are unique together."""
    for index, constraint in enumerate(constraints):
        where = f"{at}[{index}]"
        yield from _spread(constraint, where)
        pair = _pair(constraint)
        if pair in map(_pair, constraints[index + 1 :]):
            yield field_errors.duplicate(f"{where}.{{topologyKey, whenUnsatisfiable}}", pair)
        yield from _min_domains(constraint, where)
        for key in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            yield from field_rules.enum_field(constraint, where, key, _POLICIES)
        yield from _spread_keys(constraint, f"{where}.matchLabelKeys")
        selector = constraint.get("labelSelector")
        yield from selector_rules.label_selector(selector, f"{where}.labelSelector")


def _nodes(document: Document, at: str) -> Iterator[Cause]:
    if (required := document.get(_REQUIRED)) is not None:
        yield from selector_rules.node_selector(required, f"{at}.{_REQUIRED}")
    for index, term in enumerate(document.get(_PREFERRED) or ()):
        where = f"{at}.{_PREFERRED}[{index}]"
        yield from _weight(term, where)
        preference = term.get("preference") or {}
        yield from selector_rules.node_selector_term(
            preference, f"{where}.preference", check_values=False
        )


def _pods(document: Document, at: str) -> Iterator[Cause]:
    for index, term in enumerate(document.get(_REQUIRED) or ()):
        yield from _pod_term(term, f"{at}.{_REQUIRED}[{index}]")
    for index, weighted in enumerate(document.get(_PREFERRED) or ()):
        where = f"{at}.{_PREFERRED}[{index}]"
        yield from _weight(weighted, where)
        yield from _pod_term(weighted.get("podAffinityTerm") or {}, f"{where}.podAffinityTerm")


def _weight(term: Document, at: str) -> Iterator[Cause]:
    if not 0 < (weight := term.get("weight") or 0) <= WEIGHT_MAX:
        yield field_errors.invalid(f"{at}.weight", weight, "must be in the range 1-100")


def _pod_term(term: Document, at: str) -> Iterator[Cause]:
    for key in ("labelSelector", "namespaceSelector"):
        yield from selector_rules.label_selector(term.get(key), f"{at}.{key}")
    for name in term.get("namespaces") or ():
        yield from formats.check(f"{at}.namespace", name, formats.label)
    for key in ("matchLabelKeys", "mismatchLabelKeys"):
        yield from _label_keys(term.get(key) or (), term, f"{at}.{key}")
    for index, key in enumerate(term.get("matchLabelKeys") or ()):
        if key in (term.get("mismatchLabelKeys") or ()):
            why = "exists in both matchLabelKeys and mismatchLabelKeys"
            yield field_errors.invalid(f"{at}.matchLabelKeys[{index}]", key, why)
    topology = term.get("topologyKey") or ""
    if not topology:
        yield field_errors.required(f"{at}.topologyKey", "can not be empty")
    yield from formats.check(f"{at}.topologyKey", topology, formats.qualified_name)


def _label_keys(keys: Sequence[str], term: Document, at: str) -> Iterator[Cause]:
    if keys and term.get("labelSelector") is None:
        yield field_errors.forbidden(at, _NO_SELECTOR)
        return
    for index, key in enumerate(keys):
        yield from formats.check(f"{at}[{index}]", key, formats.qualified_name)


def _spread(constraint: Document, at: str) -> Iterator[Cause]:
    if (skew := constraint.get("maxSkew") or 0) <= 0:
        yield field_errors.invalid(f"{at}.maxSkew", skew, "must be greater than zero")
    if not constraint.get("topologyKey"):
        yield field_errors.required(f"{at}.topologyKey", "can not be empty")
    if (action := constraint.get("whenUnsatisfiable") or "") not in _ACTIONS:
        yield field_errors.unsupported(f"{at}.whenUnsatisfiable", action, _ACTIONS)


def _pair(constraint: Document) -> str:
    return f"{{{constraint.get('topologyKey') or ''}, {constraint.get('whenUnsatisfiable') or ''}}}"


def _min_domains(constraint: Document, at: str) -> Iterator[Cause]:
    if (count := constraint.get("minDomains")) is None:
        return
    if count <= 0:
        yield field_errors.invalid(f"{at}.minDomains", count, "must be greater than zero")
    if (action := constraint.get("whenUnsatisfiable") or "") != "DoNotSchedule":
        why = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        yield field_errors.invalid(f"{at}.minDomains", count, why)


def _spread_keys(constraint: Document, at: str) -> Iterator[Cause]:
    keys, selector = constraint.get("matchLabelKeys") or (), constraint.get("labelSelector")
    if keys and selector is None:
        yield field_errors.forbidden(at, _NO_SELECTOR)
    selected = selector_rules.label_keys(selector or {})
    for index, key in enumerate(keys):
        yield from formats.check(f"{at}[{index}]", key, formats.qualified_name)
        if key in selected:
            yield field_errors.invalid(f"{at}[{index}]", key, _IN_BOTH)


def tolerations(documents: list[Document], at: str) -> Iterator[Cause]:
    """Validate tolerations of node taints."""
    for index, toleration in enumerate(documents):
        yield from _toleration(toleration, f"{at}[{index}]")


def _toleration(toleration: Document, at: str) -> Iterator[Cause]:
    key, operator = toleration.get("key") or "", toleration.get("operator") or ""
    effect = toleration.get("effect") or ""
    if key:
        yield from formats.check(f"{at}.key", key, formats.qualified_name)
    elif operator != "Exists":
        why = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
        yield field_errors.invalid(f"{at}.operator", operator, why)
    if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
        why = "effect must be 'NoExecute' when `tolerationSeconds` is set"
        yield field_errors.invalid(f"{at}.effect", effect, why)
    yield from _toleration_value(operator, toleration.get("value") or "", f"{at}.operator")
    if effect and effect not in _EFFECTS:
        yield field_errors.unsupported(f"{at}.effect", effect, _EFFECTS)


def _toleration_value(operator: str, value: str, at: str) -> Iterator[Cause]:
    match operator:
        case "" | "Equal":
            if problems := formats.label_value(value):
                yield field_errors.invalid(at, value, ";".join(problems))
        case "Exists":
            if value:
                yield field_errors.invalid(
                    at, value, "value must be empty when `operator` is 'Exists'"
                )
        case _:
            yield field_errors.unsupported(at, operator, _TOLERATION_OPERATORS)
