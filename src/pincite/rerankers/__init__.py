"""Reading the first passages again, more carefully. One file per reranker."""
