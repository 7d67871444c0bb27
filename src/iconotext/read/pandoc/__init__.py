"""LaTeX, Org, ODT, RTF, DocBook, JATS, MediaWiki, Typst → blocks: pandoc makes HTML of them."""
