"""Errors as the API reports them: `Status` objects and field errors.

After k8s.io/apimachinery/pkg/api/errors and k8s.io/apimachinery/pkg/util/validation/field. This
package only words the errors; the packages that raise them decide when.
"""
