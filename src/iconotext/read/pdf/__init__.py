"""PDF → blocks: the lines and images of pages are joined to columns, paragraphs and captions."""
