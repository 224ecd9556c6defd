"""Known defects of the kubelet and of its driver: classes that override one method of correct code.

Their rows in `defects.toml` say what is wrong, where it comes from, and what the correct code does.
Not in here: how they are chosen (see `kubelet_defects`).
"""
