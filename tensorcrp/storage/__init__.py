"""Samples and rows that are not, or not only, in memory: files, chunks, streams.

`sources` reads arrays that live in files, `centred` makes rows of centred samples from
them, `chunks` has the rows of dask arrays, `chunk_statistics` and `tasks` compute where
the chunks are, `sketch` makes fewer rows of many.
"""
