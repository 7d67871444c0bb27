"""Alternative texts: which of a document's pictures lack one, and which have one that serves nobody."""
