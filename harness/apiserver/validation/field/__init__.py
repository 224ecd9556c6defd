"""Rules that several kinds share: metadata, formats, lists, enums, selectors, conditions.

After k8s.io/apimachinery/pkg/api/validation. Rules of a single kind do not belong here.
"""
