"""One Prefect flow per file: file = flow = deployment. No types or constants live here."""
