"""Tests of the language model backends."""
