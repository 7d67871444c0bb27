"""PDF → blocks: the lines and images of pages are joined to columns, paragraphs and captions.

``document.read_document`` reads a file page by page (``page.read_page``), and ``layout.lay_out`` makes the blocks.
"""
