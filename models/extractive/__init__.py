"""Answers without a language model: the best-matching spans of the evidence, always installed and deterministic."""

from models.extractive.answerer import ExtractiveAnswerer
from models.extractive.config import ExtractiveConfig

__all__ = ["ExtractiveAnswerer", "ExtractiveConfig"]
