"""Time from one sample in memory to its label: the fast paths beside a bare product.

    python tests/measure_latency.py

In: nothing; synthetic clips of 16 x 32 x 32 in four classes. Out: a line per path, in
microseconds, the least of many repeats: a matrix-vector product of the size of the
folded map, `fold_linear`, ONNX, `transform` of TensorCRP and of scikit-learn's LDA,
and `predict` of the pipeline.
"""

import tempfile
from time import perf_counter, process_time

from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.pipeline import make_pipeline

from tensorcrp import TensorCRP
from tensorcrp.datasets import make_moving_shapes
from tensorcrp.files import fold_linear
from tensorcrp.persistence import export_onnx


def least(functions, repeats=200, calls=20):
    """Name -> microseconds of the quickest of `repeats` rows of `calls` calls.

    The functions take turns, so that other work on the machine meets all of them.
    """
    times = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            start = perf_counter()
            for _ in range(calls):
                function()
            times[name].append((perf_counter() - start) / calls)
    return {name: 1e6 * min(each) for name, each in times.items()}


def paths():
    """Name -> a function of no arguments that handles one sample."""
    import onnxruntime

    X, y = make_moving_shapes(20, random_state=0, return_X_y=True)
    model = make_pipeline(TensorCRP(6), LinearDiscriminantAnalysis()).fit(X, y)
    fast, clip = fold_linear(model), X[0]
    flat = clip.reshape(-1)
    lda = LinearDiscriminantAnalysis().fit(X.reshape(len(X), -1), y)
    with tempfile.TemporaryDirectory() as folder:
        export_onnx(model, f"{folder}/model.onnx")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(f"{folder}/model.onnx", options)
    return {
        "matrix-vector product": lambda: fast.coef @ flat,
        "fold_linear, predict_one": lambda: fast.predict_one(clip),
        "ONNX, label": lambda: session.run(["label"], {"X": X[:1]}),
        "TensorCRP.transform": lambda: model[0].transform(X[:1]),
        "scikit-learn's LDA.transform": lambda: lda.transform(flat[None]),
        "pipeline.predict": lambda: model.predict(X[:1]),
    }


def main():
    for name, time in least(paths()).items():
        print(f"{name:<30} {time:8.1f} us")
    print(f"{process_time():.0f} s of processor time")


if __name__ == "__main__":
    main()
