"""Errors as the API reports them: `Status` objects and field errors. After k8s.io/apimachinery/pkg/api/errors and util/validation/field.

When an error is raised is decided elsewhere; this package only words it.
"""
