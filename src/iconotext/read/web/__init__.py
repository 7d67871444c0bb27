"""The web: documents and images are fetched only from public addresses, within limits, and politely.

``page.fetch_page`` fetches a document; ``polite.PoliteFetcher`` fetches many images; ``fetch.fetch`` makes one request.
"""
