"""LaTeX, Org, RTF, DocBook, JATS, MediaWiki, Typst → blocks: pandoc makes HTML of them."""
