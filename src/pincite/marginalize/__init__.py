"""The retrieved passage as a latent variable: RAG-Sequence and RAG-Token of Lewis et al. 2020 (arXiv:2005.11401).

A retriever gives a passage z the probability p(z|x), a reader gives an answer y after it p(y|x,z), and the answer's
probability is the mixture over passages. `prior` makes p(z|x) of scores, `rag_sequence` and `rag_token` are the two
mixtures of section 2.1, `posterior` says what each passage was worth once the answer is known, `dilution` what more
passages do to it. `decode` (RAG-Token) and `candidates` (RAG-Sequence) search for answers with any reader that is a
`pincite.protocols.Reading`; `certificate` says what is known where a reader lists only its likeliest tokens.

Numbers are natural logarithms, computed in float64 whatever comes in. Minus infinity is probability 0 and allowed
anywhere; what comes out is never NaN.
"""
