"""Chunks with their pictures for LangChain, from files or folders: pictures_in_langchain.py PATH..."""

import sys

from iconotext.adapters.langchain import PictureLoader

if len(sys.argv) < 2:
    sys.exit(__doc__)
for chunk in PictureLoader(*sys.argv[1:], words=200).lazy_load():
    pictures = [image["source"] for image in chunk.metadata["images"]]
    print(f"{chunk.metadata['document']} {chunk.metadata['chunk']}: {len(chunk.page_content)} characters, {pictures}")
