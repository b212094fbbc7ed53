"""Language models as marginalization sees them: probabilities of tokens after contexts. One file per scorer."""
