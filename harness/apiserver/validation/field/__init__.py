"""Rules that several kinds share: metadata, formats, lists, enums, selectors, conditions.

After k8s.io/apimachinery/pkg/api/validation. Rules of a single kind do not belong here.

Contents: `conditions`, `field_rules` (enums, ranges, lists, semantic equality), `formats` (names,
addresses, paths), `object_meta`, `resource_requirements`, `selector_rules` (label and node
selectors).
"""
