"""PDF → blocks: the lines and images of its pages, put together to columns, paragraphs and captions."""
