"""The evidence about links: one module for each kind, and one that gathers all kinds for a window of documents."""
