"""Admission: the built-in plugins that change or refuse objects before validation. After k8s.io/kubernetes/plugin/pkg/admission.

Validation of fields belongs in `validation`; defaults that the types themselves have belong in `scheme`.
"""
