"""The published sizes of the data sets of Hessel 2019."""

from dataclasses import replace

from iconotext.corpus.stats import PublishedSizes

TABLE_1 = {
    "MSCOCO": PublishedSizes((25_000, 2_000, 2_000), (10, 10), 83_000, 5),
    "Story-DII": PublishedSizes((22_000, 3_000, 3_000), (5, 5), 47_000, 20),
    "Story-SIS": PublishedSizes((37_000, 5_000, 5_000), (5, 5), 76_000, 20),
    "DII-Stress": PublishedSizes((22_000, 3_000, 3_000), (50, 5), 47_000, 2),
    "DIY": PublishedSizes((7_000, 1_000, 1_000), (15, 16), 154_000, 8, (16.4, 17.4), (40, 40)),
    "RQA": PublishedSizes((7_000, 1_000, 1_000), (6, 8), 88_000, 17, (7, 11), (20, 93)),
    "WIKI": PublishedSizes((14_000, 1_000, 1_000), (86, 5), 92_000, None, (72, 6), (100, 108)),
}
"""The printed table; means and largest sizes are from the supplement."""

PUBLISHED = TABLE_1 | {
    "DIY": replace(TABLE_1["DIY"], documents=(6_800, 1_000, 1_000), rounding=100),
    "RQA": replace(TABLE_1["RQA"], documents=(6_502, 946, 878), rounding=1, images=69_000),
}
"""The table with the supplement's figures where they are more exact, or contradict the table (69K images of RQA, not
88K).
"""
