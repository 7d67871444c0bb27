"""An image library: pictures and what documents say of them, in a folder that grows and is searched.

``files`` finds what there is, ``add`` reads what is new or changed, ``encode`` makes vectors, ``commit`` puts it in;
``update`` does all that for some paths, ``report`` says what came of it. ``store`` holds pictures in LanceDB tables,
``ledger`` remembers what is in and what a killed run left half done, ``index`` makes search quick where there are many;
``describe`` says what a library holds.
"""
