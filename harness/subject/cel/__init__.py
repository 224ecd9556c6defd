"""The scheduler's evaluation of device selectors, by Google's implementation of CEL.

Here are the values of `device`, and the functions of Kubernetes that selectors of devices use. A
selector with others (of addresses, URLs, named formats, and macros with two variables) is refused
when it is compiled. Not in here: what an expression may cost, which the API server estimates. The
judge has an evaluation of its own, with which nothing here is shared.
"""
