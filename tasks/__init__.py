"""Thin Prefect tasks and the composition root: where settings, stores and models meet."""
