"""Data at rest: records, tables, artifacts, corpora and memory structures. Imports nothing of the layers above."""
