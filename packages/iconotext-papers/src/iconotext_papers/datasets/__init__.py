"""The data sets of the papers, built from their published files."""

from iconotext.corpus.builders import Builder

HESSEL_2019 = (
    Builder("mscoco", "Ten images, ten sentences, five links.", f"{__name__}.mscoco"),
    Builder("story-dii", "Albums, five captions each.", f"{__name__}.vist", "DiiSettings", "dii_documents"),
    Builder("story-sis", "Albums, a story each.", f"{__name__}.vist", "SisSettings", "sis_documents"),
    Builder("dii-stress", "Story-DII with more captions.", f"{__name__}.vist", "StressSettings", "stress_documents"),
    Builder("rqa", "Recipes whose steps have pictures.", f"{__name__}.rqa"),
    Builder("diy", "Albums with captions, of Reddit's r/DIY.", f"{__name__}.diy"),
    Builder("wiki", "English articles of Wikipedia.", f"{__name__}.wiki"),
)
"""The data sets of Hessel 2019; Li 2021 uses the first three."""

RELEASED = Builder("multi-retrieval", "Data as released.", f"{__name__}.multi_retrieval")

ALIKHANI_2021 = (
    Builder("cite", "Steps of recipes with relations.", f"{__name__}.cite"),
    Builder("clue", "Captions with relations.", f"{__name__}.clue"),
)
"""The data sets of Alikhani 2021."""
