"""DOCX → blocks: the body of a Word file in reading order, with its images, captions and cross-references."""
