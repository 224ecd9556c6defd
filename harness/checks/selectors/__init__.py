"""The judge's own evaluation of CEL selectors of devices.

Google's implementation compiles and evaluates; here are the values of `device` and the functions of
Kubernetes that selectors of devices use. A selector with other functions is not judged. The
scheduler under test has an evaluator of its own, with which nothing here is shared.
"""
