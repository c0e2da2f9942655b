"""Tests of the extractive answerer."""
