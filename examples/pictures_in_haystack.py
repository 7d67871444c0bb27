"""Chunks with their pictures in a pipeline of Haystack: pictures_in_haystack.py PATH..."""

import sys

from haystack import Pipeline
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

from iconotext.adapters.haystack import PictureConverter

if len(sys.argv) < 2:
    sys.exit(__doc__)
store = InMemoryDocumentStore()
pipeline = Pipeline()
pipeline.add_component("convert", PictureConverter(words=200))
pipeline.add_component("write", DocumentWriter(document_store=store))
pipeline.connect("convert.documents", "write.documents")
pipeline.run({"convert": {"sources": sys.argv[1:]}})
for document in store.filter_documents():
    print(f"{document.content[:60]!r}: {[image['source'] for image in document.meta['images']]}")
