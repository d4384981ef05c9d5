"""Tasks of dask, and their results joined in a tree.

In: functions and delayed arguments. Out: delayed objects, or one result.
"""


def delayed(function_or_value):
    """A function whose calls are tasks, or a value that tasks share."""
    import dask

    if callable(function_or_value):
        return dask.delayed(function_or_value, pure=False)
    return dask.delayed(function_or_value, pure=False, traverse=False)


def in_a_tree(join, tasks):
    """The result of joining all tasks, pairs first, wherever they are."""
    join = delayed(join)
    while len(tasks) > 1:
        pairs = [tasks[i : i + 2] for i in range(0, len(tasks), 2)]
        tasks = [join(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return tasks[0].compute()
