"""LaTeX, Org, RTF, DocBook, JATS, MediaWiki, Typst → blocks: pandoc makes HTML of them.

``document.read_pandoc`` reads a file; ``convert.to_html`` runs pandoc; ``latex`` repairs LaTeX that pandoc refuses.
"""
