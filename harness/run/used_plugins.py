"""The plug-ins that a run uses, for its plan: what was asked for by name, and every check."""

from collections.abc import Iterator, Sequence

from harness.checks.plugin_checks import planned_checks
from harness.extensions import discovery, entry_points
from harness.history import plans
from harness.run import known_defects, subjects
from harness.scenario import loading, profiles


def asked_for(
    loaded: loading.Loaded,
    *,
    cluster: str,
    chosen_subjects: Sequence[str],
    defects: Sequence[str],
) -> list[plans.UsedPlugin]:
    """Return the plug-ins of a run but that of its traffic.

    `cluster` is the name or path of its profile.

    Raises PluginError if one cannot be used by its name.
    """
    plugins = _plugins(loaded, cluster, chosen_subjects, defects)
    return [
        plans.UsedPlugin(
            kind=plugin.kind, name=plugin.name, package=plugin.package, version=plugin.version
        )
        for plugin in plugins
    ]


def _plugins(
    loaded: loading.Loaded, cluster: str, chosen_subjects: Sequence[str], defects: Sequence[str]
) -> Iterator[entry_points.Plugin]:
    asked = [
        loading.SHELF.plugin(loaded.given),
        profiles.SHELF.plugin(cluster),
        *(discovery.named("subjects", text, shipped=subjects.KINDS) for text in chosen_subjects),
        *(discovery.named("defects", name, shipped=known_defects.names()) for name in defects),
        *(
            discovery.named("faults", name)
            for fault in loaded.scenario.faults
            for name in fault.plugins
        ),
    ]
    yield from filter(None, asked)
    yield from planned_checks.installed()
