"""Documents and images from the web: from public addresses only, within limits, and without being a burden."""
