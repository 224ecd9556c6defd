"""Security contexts of pods and containers: users, groups, profiles, sysctls."""

import re
from collections.abc import Iterator

from harness.apiserver.errors import field_errors
from harness.apiserver.errors.field_errors import Cause
from harness.apiserver.scheme.json_document import Document
from harness.apiserver.validation.field import field_rules, formats

SYSCTL_MAX = 253
"""Characters in the name of a sysctl."""
PROFILE_PATH_MAX = 4095
"""Characters in the name of an AppArmor profile."""
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL = r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_CHOICES = {
    "fsGroupChangePolicy": ("Always", "OnRootMismatch"),
    "supplementalGroupsPolicy": ("Merge", "Strict"),
    "seLinuxChangePolicy": ("MountOption", "Recursive"),
}


def of_pod(context: Document, spec: Document, at: str) -> Iterator[Cause]:
    """Validate the security context of a pod."""
    for key in ("fsGroup", "runAsUser", "runAsGroup"):
        yield from field_rules.in_range(context.get(key), f"{at}.{key}", 0, field_rules.ID_MAX)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        yield from field_rules.in_range(
            group, f"{at}.supplementalGroups[{index}]", 0, field_rules.ID_MAX
        )
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        yield field_errors.invalid(f"{at}.shareProcessNamespace", value=True, why=why)
    if sysctls := context.get("sysctls"):
        yield from _sysctls(sysctls, spec, f"{at}.sysctls")
    for key, known in _CHOICES.items():
        yield from field_rules.enum_field(context, at, key, known)
    yield from _profiles(context, at)


def of_container(context: Document, at: str, *, host_users: bool) -> Iterator[Cause]:
    """Validate the security context of a container; `host_users` is that of its pod."""
    for key in ("runAsUser", "runAsGroup"):
        yield from field_rules.in_range(context.get(key), f"{at}.{key}", 0, field_rules.ID_MAX)
    yield from field_rules.enum_field(context, at, "procMount", ("Default", "Unmasked"))
    if host_users and context.get("procMount") == "Unmasked":
        why = "`hostUsers` must be false to use `Unmasked`"
        yield field_errors.invalid(f"{at}.procMount", "Unmasked", why)
    yield from _profiles(context, at)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield field_errors.invalid(at, context, why)
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield field_errors.invalid(at, context, why)


def _profiles(context: Document, at: str) -> Iterator[Cause]:
    if (profile := context.get("seccompProfile")) is not None:
        yield from _seccomp(profile, f"{at}.seccompProfile")
    if (profile := context.get("appArmorProfile")) is not None:
        yield from _app_armor(profile, f"{at}.appArmorProfile")


def _seccomp(profile: Document, at: str) -> Iterator[Cause]:
    why = "type is required when seccompProfile is set"
    yield from field_rules.required_enum_field(profile, at, "type", _PROFILES, why)
    path = profile.get("localhostProfile")
    if profile.get("type") != "Localhost":
        if path is not None:
            why = "can only be set when seccomp type is Localhost"
            yield field_errors.invalid(f"{at}.localhostProfile", _shown(profile), why)
    elif path is None:
        why = "must be set when seccomp type is Localhost"
        yield field_errors.required(f"{at}.localhostProfile", why)
    else:
        yield from formats.check(f"{at}.localhostProfile", path, formats.descending_path)


def _shown(profile: Document) -> Document:
    return {
        "Type": profile.get("type") or "",
        "LocalhostProfile": profile.get("localhostProfile"),
    }


def _app_armor(profile: Document, at: str) -> Iterator[Cause]:
    why = "type is required when appArmorProfile is set"
    yield from field_rules.required_enum_field(profile, at, "type", _PROFILES, why)
    name, at = profile.get("localhostProfile"), f"{at}.localhostProfile"
    if profile.get("type") in ("RuntimeDefault", "Unconfined") and name is not None:
        yield field_errors.invalid(at, name, "can only be set when AppArmor type is Localhost")
    if profile.get("type") != "Localhost":
        return
    if not name:
        yield field_errors.required(at, "must be set when AppArmor type is Localhost")
    elif name != name.strip():
        yield field_errors.invalid(at, name, "must not be padded with whitespace")
    if len(name or "") > PROFILE_PATH_MAX:
        yield field_errors.too_long(at, PROFILE_PATH_MAX)


def _sysctls(sysctls: list[Document], spec: Document, at: str) -> Iterator[Cause]:
    seen: set[str] = set()
    for index, sysctl in enumerate(sysctls):
        where, name = f"{at}[{index}].name", sysctl.get("name") or ""
        if not name:
            yield field_errors.required(where)
        elif len(name) > SYSCTL_MAX or not re.fullmatch(_SYSCTL, name):
            why = f"must have at most {SYSCTL_MAX} characters and match regex ^{_SYSCTL}$"
            yield field_errors.invalid(where, name, why)
        elif name in seen:
            yield field_errors.duplicate(where, name)
        seen.add(name)
        yield from _host_sysctl(name.replace("/", "."), spec, where)


def _host_sysctl(name: str, spec: Document, at: str) -> Iterator[Cause]:
    """Reject sysctls of a namespace that the pod shares with the host."""
    if spec.get("hostNetwork") and name.startswith("net."):
        yield field_errors.invalid(at, name, "may not be specified when 'hostNetwork' is true")
    is_ipc = name == "kernel.sem" or name.startswith(("kernel.shm", "kernel.msg", "fs.mqueue."))
    if spec.get("hostIPC") and is_ipc:
        yield field_errors.invalid(at, name, "may not be specified when 'hostIPC' is true")
