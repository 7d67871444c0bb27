"""``iconotext corpus build wiki``: articles of Wikipedia with their pictures, from ImageCLEF 2010/2011."""

from __future__ import annotations

from iconotext.cli.build.options import Images, Settings, Source, Workers
from iconotext.cli.build.run import run_data_set
from iconotext.cli.common import known_errors
from iconotext.cli.options import CorpusOutput, Force, Seed


def wiki(
    source: Source,
    output: CorpusOutput,
    images: Images = None,
    seed: Seed = 0,
    workers: Workers = None,
    set_: Settings = None,
    force: Force = False,
) -> None:
    """Make WIKI (Hessel 2019): English articles of Wikipedia with three pictures or more; without gold links.

    The source is the folder into which the archives of the ImageCLEF 2010/2011 collection were unpacked: it has folders
    metadata, text/en and images, in it or in folders in it.

    **Examples**

    - `iconotext corpus build wiki --source imageclef/ --output wiki.jsonl`
    - `iconotext corpus build wiki -s imageclef/ -o wiki.parquet --images /data/images --set max_sentences=50`
    """
    with known_errors(goes_on=True):
        from iconotext.papers.datasets.wiki import WikiSettings, wiki_rows

        run_data_set(
            "wiki",
            wiki_rows,
            WikiSettings,
            set_,
            source=source,
            images=images,
            output=output,
            seed=seed,
            workers=workers,
            force=force,
        )
