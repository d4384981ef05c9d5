"""Places of a JSON tree, for the fuzzers that change one of them."""


def json_places(tree):
    """Pairs (list or dictionary, key) of everything inside a tree, outer ones first."""
    if not isinstance(tree, (list, dict)):
        return []
    places = []
    for key in range(len(tree)) if isinstance(tree, list) else list(tree):
        places += [(tree, key), *json_places(tree[key])]
    return places
