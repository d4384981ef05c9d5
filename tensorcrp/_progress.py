"""A progress bar where tqdm (extra ``cli``) is installed, silence where it is not."""


def progress(items, label, shown=True):
    """Iterate over a list and show how far it is."""
    if not shown:
        return items
    try:
        from tqdm import tqdm
    except ImportError:
        return items
    return tqdm(items, desc=label, leave=False)
