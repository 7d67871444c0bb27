"""An image library: pictures and what documents say of them, in a folder that grows and is searched.

``files`` finds what there is, ``encode`` makes vectors, ``add`` puts them in, ``update`` does all that for some paths;
``store`` holds them in LanceDB tables, ``ledger`` remembers what is in and what a killed run left half done, ``index``
makes search quick where there are many; ``describe`` says what a library holds.
"""
