"""The commands ``fit``, ``predict``, ``transform`` and ``inspect``.

Each is a thin layer over `tensorcrp.files.FileClassifier` and `tensorcrp.persistence`:
options in, printed text and files out.
"""
