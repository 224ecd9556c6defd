"""Admission: the built-in plugins that change or reject objects before validation.

Validation of fields belongs in `validation`, default values of the types in `scheme`. After
k8s.io/kubernetes/plugin/pkg/admission.
"""
