"""Fetches documents and images from the web: only from public addresses, within limits, and politely."""
