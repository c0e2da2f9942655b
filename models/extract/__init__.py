"""Derivations: from steps to summaries and triples."""
