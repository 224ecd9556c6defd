"""Messages of the protocol: `tools/compile_protos.py` makes these modules of `protos/`."""
