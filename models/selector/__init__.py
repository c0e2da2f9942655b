"""Which structures to read for a question: subsets and the policies that choose them."""
