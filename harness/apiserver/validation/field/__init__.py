"""Validation of metadata and single fields: formats, lists, selectors, conditions. After k8s.io/apimachinery/pkg/api/validation.

Rules that kinds of several groups share; rules of one kind belong beside it.
"""
