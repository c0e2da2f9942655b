"""Ways of reading an episode without structures."""
