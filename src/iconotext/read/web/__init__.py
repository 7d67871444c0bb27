"""The web: documents and images are fetched only from public addresses, within limits, and politely."""
