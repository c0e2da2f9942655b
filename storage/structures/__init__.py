"""The memory structures; `STRUCTURES` is the registry."""
