"""The functions of upstream's CEL environment, each on Python values."""
