"""Chunks with their pictures for LangChain, from files or folders: pictures_in_langchain.py [PATH...].

Prints

    levers 0: ...
"""

import sys
from pathlib import Path

from iconotext.adapters.langchain import PictureLoader

paths = sys.argv[1:] or [Path(__file__).with_name("levers")]
for chunk in PictureLoader(*paths, words=200).lazy_load():
    pictures = [image["source"] for image in chunk.metadata["images"]]
    print(f"{chunk.metadata['document']} {chunk.metadata['chunk']}: {len(chunk.page_content)} characters, {pictures}")
