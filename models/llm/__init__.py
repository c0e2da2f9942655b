"""Language models behind one protocol (`chat.Chat`); one backend per file."""
