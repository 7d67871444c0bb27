"""Make a corpus of documents of your own, with gold links, and read it again.

Prints

    ['A dog runs along the beach.', 'Then it rains.']
"""

from iconotext import Document, Image, Sentence, read_corpus, write_corpus

document = Document(
    id="first",
    sentences=(Sentence("A dog runs along the beach."), Sentence("Then it rains.")),
    images=(Image("dog.png"),),
    links=((0, 0),),
)
write_corpus([document], "corpus.jsonl", force=True)
print([sentence.text for each in read_corpus("corpus.jsonl") for sentence in each.sentences])
