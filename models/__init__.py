"""Plain code that thinks: language models, embedders, extraction, answers, metrics, reports. No Prefect, no MLflow."""
