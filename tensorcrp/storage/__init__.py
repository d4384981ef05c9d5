"""Samples and rows that are not, or not only, in memory: files, chunks, streams.

`sources` reads samples where they are, `centred` makes rows of centred samples from
them (`device_samples` on a device), `chunks` has the rows of dask arrays,
`chunk_statistics` and `tasks` compute where the chunks are, `roots` makes fewer rows of
many, and `merging` makes the statistics of several batches one.
"""
