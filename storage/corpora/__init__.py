"""Readers of data sets; `CORPORA` is the registry."""
