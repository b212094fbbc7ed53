"""Whether a source supports a statement: one file for each way of judging it."""
