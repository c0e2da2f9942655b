"""Learning to walk an event graph: the paper's query router trained by REINFORCE, and a ranker of events beside it."""
