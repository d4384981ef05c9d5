"""Pipelines in model files and in ONNX: the same answers, and no forged parts."""

import json
from itertools import pairwise

import numpy as np
import pytest
import sklearn
from model_files import resigned, split_file
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from tensorcrp import TensorCRP, TensorCRPCV
from tensorcrp.baselines import MPCA, RidgeLDA
from tensorcrp.files import fold_linear
from tensorcrp.persistence import ModelFormatError, export_onnx, load, save
from tensorcrp.preprocessing import KINDS, Motion

SHAPE = (5, 4, 3)
RNG = np.random.default_rng(0)
Y = np.arange(36) % 3
X = (RNG.standard_normal((36, *SHAPE)) + Y.reshape(-1, 1, 1, 1)).astype(np.float32)
X += np.linspace(0, 1, 5, dtype=np.float32)[:, None, None] * Y.reshape(-1, 1, 1, 1)
NEW = RNG.standard_normal((10, *SHAPE)).astype(np.float32)
NAMES = np.array(["bend", "run", "wälk"])

CLASSIFIERS = {
    "1-nn": KNeighborsClassifier(1),
    "nearest mean": NearestCentroid(),
    "lda": LinearDiscriminantAnalysis(),
    "logistic": LogisticRegression(),
    "linear svm": LinearSVC(random_state=0),
    "rbf svm": SVC(),
}
LINEAR = ("nearest mean", "lda", "logistic", "linear svm")
SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    MinMaxScaler(),
    MaxAbsScaler(),
    RobustScaler(),
]


def pipelines():
    for name, classifier in CLASSIFIERS.items():
        yield pytest.param(
            make_pipeline(TensorCRP(4), StandardScaler(), classifier), id=name
        )
    for scaler in SCALERS[1:]:
        steps = (TensorCRP(4), scaler, LogisticRegression())
        yield pytest.param(make_pipeline(*steps), id=str(scaler))
    for kind in KINDS:
        steps = (Motion(kind), TensorCRP(3), LogisticRegression())
        yield pytest.param(make_pipeline(*steps), id=f"motion {kind}")
    yield pytest.param(
        make_pipeline(MPCA(sizes=(2, 2, 2)), LinearDiscriminantAnalysis()), id="mpca"
    )
    grid = TensorCRPCV(
        make_pipeline(StandardScaler(), LogisticRegression()),
        ranks=(1,),
        regs=(0.1, 1.0),
        cv=2,
    )
    yield pytest.param(make_pipeline(Motion("root", mode=1), grid), id="search")


every = pytest.mark.parametrize("model", list(pipelines()))


def test_requests_for_metadata_are_saved(tmp_path):
    """Of models, scalers and classifiers; no file asks for what methods do not take."""
    with sklearn.config_context(enable_metadata_routing=True):
        crp = TensorCRP(2).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight="weight")
        last = LogisticRegression().set_score_request(sample_weight=False)
        model = make_pipeline(crp, scaler, last).fit(X, Y)
        save(model, tmp_path / "model")
        again = load(tmp_path / "model")
        for mine, other in zip(model, again, strict=True):
            assert str(other.get_metadata_routing()) == str(mine.get_metadata_routing())
        near = KNeighborsClassifier(1).set_score_request(sample_weight=True)
        grid = TensorCRPCV(near, ranks=(1,), regs=(1.0,), cv=2)
        save(grid.set_fit_request(groups=True), tmp_path / "search")
        routing = load(tmp_path / "search").get_metadata_routing()
        assert str(routing) == str(grid.get_metadata_routing())
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    whole = (tmp_path / "model").read_bytes()
    for old, new in ((b"weight", b"wei-ht"), (b"sample_weight", b"sample_wei_ht")):
        header, data = split_file(whole)
        quoted = [b'\\"' + each + b'\\"' for each in (old, new)]
        assert quoted[0] in header
        changed = resigned(header.replace(*quoted), data)
        (tmp_path / "other").write_bytes(changed)
        with pytest.raises(ModelFormatError, match="requests"):
            load(tmp_path / "other")


def is_linear(model):
    last = model[-1].estimator_ if hasattr(model[-1], "estimator_") else model[-1]
    last = last[-1] if isinstance(last, Pipeline) else last
    return isinstance(last, tuple(type(CLASSIFIERS[name]) for name in LINEAR))


@pytest.mark.parametrize("kind", ["centred", "none"])
def test_motion_is_a_transformer(kind, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # or a check is skipped
    check_estimator(Motion(kind))


# --- motion -----------------------------------------------------------------------


def test_motion_against_loops():
    for mode in range(3):
        rows = np.moveaxis(X, mode + 1, 1)
        step = [[abs(b - a) for a, b in pairwise(row)] for row in rows]
        found = Motion("difference", mode=mode).fit_transform(X)
        np.testing.assert_array_equal(np.moveaxis(found, mode + 1, 1), step)
        root = Motion("root", mode=mode).fit_transform(X)
        np.testing.assert_allclose(root**2, found, rtol=1e-5, atol=1e-7)
    centred = Motion("centred").fit_transform(X)
    np.testing.assert_allclose(centred.mean(axis=1), 0, atol=1e-6)
    assert centred.dtype == np.float32 and Motion("none").fit_transform(X) is not None


@pytest.mark.parametrize("first", ["float32", "uint8"])
def test_pixels_after_fractions_are_an_error_also_from_a_file(first, tmp_path):
    """One clip in two forms; without a check the labels differ in silence."""
    rng, y = np.random.default_rng(0), np.arange(16) % 2
    pixels = rng.integers(0, 255, (16, 5, 4, 4), dtype=np.uint8)
    forms = {"uint8": pixels, "float32": (pixels / 255).astype(np.float32)}
    (second,) = set(forms) - {first}
    model = make_pipeline(Motion("centred"), TensorCRP(1), KNeighborsClassifier(1))
    save(model.fit(forms[first], y), tmp_path / "m")
    for each in (model, load(tmp_path / "m")):
        words = f"samples are {second}; the model was fitted on {first}"
        with pytest.raises(ValueError, match=words):
            each.predict(forms[second])
        np.testing.assert_array_equal(each.predict(forms[first]), y)


def test_pixels_of_another_range_are_an_error_whatever_their_type(tmp_path):
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 255, (9, 5, 4, 4)).astype(np.float32)
    for fitted, other, words in [
        (pixels / 255, pixels, "is 25.; the model was fitted on values from 0 to 0.99"),
        (pixels, pixels / 255, "is 0.99.*fitted on values from 0 to 25"),
    ]:
        save(Motion("none").fit(fitted), tmp_path / "m")
        motion = load(tmp_path / "m")
        with pytest.raises(ValueError, match=words):
            motion.transform(other)
        for fine in (fitted[:1], 0 * fitted, fitted / 9):  # darker, or black
            motion.transform(fine)
    signals = pixels - 100  # a window with an artefact is no other unit
    Motion("none").fit(signals / 255).transform(1e6 * signals)


def test_a_file_without_the_type_of_samples_loads(tmp_path):
    """As format 1.4 was first written."""
    rng = np.random.default_rng(0)
    motion = Motion().fit(rng.standard_normal((4, 5, 3)))
    del motion.dtype_, motion.range_
    save(motion, tmp_path / "m")
    assert load(tmp_path / "m").transform(np.zeros((1, 5, 3), np.uint8)).shape[1] == 4


def test_static_scenes_vanish():
    scene = RNG.standard_normal((36, 1, 4, 3))
    for kind in ("centred", "difference", "root"):
        plain, shifted = (Motion(kind).fit_transform(Z) for Z in (X, X + 8 * scene))
        np.testing.assert_allclose(shifted, plain, atol=3e-3)


def test_motion_of_flattened_samples_and_of_bytes():
    flat = Motion(sample_shape=SHAPE).fit_transform(X.reshape(36, -1))
    np.testing.assert_array_equal(flat, Motion().fit_transform(X).reshape(36, -1))
    pixels = np.array([[[200, 3], [100, 250]]], np.uint8)  # must not wrap around
    assert Motion().fit_transform(pixels).tolist() == [[[100, 247]]]


@pytest.mark.parametrize(
    ("motion", "words"),
    [
        (Motion("fast"), "kind must be one of 'none'"),
        (Motion(mode=3), "modes 0 to 2"),
        (Motion(mode=-1), "mode must be an integer"),
    ],
)
def test_motion_that_cannot_be(motion, words):
    with pytest.raises(ValueError, match=words):
        motion.fit(X)
    with pytest.raises(ValueError, match="two times or more"):
        Motion().fit(X[:, :1])


# --- files ------------------------------------------------------------------------


@every
def test_there_and_back(model, tmp_path):
    model.fit(X, NAMES[Y])
    path = tmp_path / "model.safetensors"
    save(model, path)
    again = load(path)
    np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
    for name in ("decision_function", "predict_proba"):
        if hasattr(model, name):
            one, other = getattr(again, name)(NEW), getattr(model, name)(NEW)
            np.testing.assert_array_equal(one, other)
    before = path.read_bytes()
    save(again, path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("scaler", [*SCALERS, Normalizer()], ids=str)
def test_scalers(scaler, tmp_path):
    model = make_pipeline(scaler, RidgeLDA(), LinearSVC(random_state=0))
    model.fit(X.reshape(36, -1), Y)
    save(model, tmp_path / "model")
    flat = NEW.reshape(10, -1)
    again = load(tmp_path / "model")
    exact = model.decision_function(flat)
    np.testing.assert_array_equal(again.decision_function(flat), exact)


def test_an_unfitted_pipeline(tmp_path):
    model = make_pipeline(Motion(), TensorCRPCV(SVC()))
    save(model, tmp_path / "model")
    assert str(load(tmp_path / "model")) == str(model)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (make_pipeline(TensorCRP(), RandomForestClassifier()), "RandomForest.*skops"),
        (Pipeline([("crp", TensorCRP())], memory="cache"), "memory"),
        (make_pipeline(TensorCRP(), SVC(kernel=lambda a, b: a @ b.T)), "kernel|code"),
    ],
)
def test_what_is_not_saved(model, words, tmp_path):
    with pytest.raises(ModelFormatError, match=words):
        save(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


# --- forged files -----------------------------------------------------------------


def forged(path, change):
    """The file with its trees of parameters and attributes changed, signed again."""
    header, data = split_file(path.read_bytes())
    fields = json.loads(header)
    texts = fields["__metadata__"]
    trees = {name: json.loads(texts[name]) for name in ("parameters", "state")}
    change(fields, trees)
    texts |= {
        name: json.dumps(tree, separators=(",", ":")) for name, tree in trees.items()
    }
    header = json.dumps(fields, separators=(",", ":")).encode()
    path.write_bytes(resigned(header, data))


def renamed(old, new):
    def change(fields, trees):
        for name, tree in trees.items():
            trees[name] = json.loads(json.dumps(tree).replace(old, new))

    return change


def swapped(one, other):
    """Two arrays of the file change places."""

    def change(fields, trees):
        def names(part):
            return next(name for name in fields if name.endswith(part))

        first, second = names(one), names(other)
        renamed(f'"{first}"', '"waiting"')(fields, trees)
        renamed(f'"{second}"', f'"{first}"')(fields, trees)
        renamed('"waiting"', f'"{second}"')(fields, trees)

    return change


@pytest.mark.parametrize(
    "change",
    [
        renamed('"rbf"', '"precomputed"'),
        renamed('"_n_support"', '"_m_support"'),
        swapped("support_vectors_", "._dual_coef_"),
        swapped("._intercept_", "._dual_coef_"),
        swapped(".support_", "._n_support"),
        renamed('"StandardScaler"', '"RandomForestClassifier"'),
        renamed('"StandardScaler"', '"MaxAbsScaler"'),
        swapped(".mean_", "components_"),
    ],
)
def test_forged_parts_are_rejected(change, tmp_path):
    path = tmp_path / "model"
    save(make_pipeline(TensorCRP(4), StandardScaler(), SVC()).fit(X, Y), path)
    forged(path, lambda fields, trees: None)
    load(path)
    forged(path, change)
    with pytest.raises(ModelFormatError):
        load(path)


def test_steps_whose_shapes_differ_are_rejected(tmp_path):
    model = make_pipeline(TensorCRP(4), StandardScaler(), SVC()).fit(X, Y)
    model.steps[0] = ("tensorcrp", TensorCRP(3).fit(X, Y))
    with pytest.raises(ModelFormatError, match=r"\(3,\).*StandardScaler of \(4,\)"):
        save(model, tmp_path / "model")


# --- ONNX and the fast path -------------------------------------------------------


def session_of(model, path):
    onnxruntime = pytest.importorskip("onnxruntime")
    export_onnx(model, path)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


@every
def test_onnx_has_the_classifier_and_its_names(model, tmp_path):
    model.fit(X, NAMES[Y])
    if not is_linear(model):
        with pytest.raises(ValueError, match="not a linear classifier"):
            export_onnx(model, tmp_path / "model.onnx")
        return
    session = session_of(model, tmp_path / "model.onnx")
    names = [each.name for each in session.get_outputs()]
    outputs = dict(zip(names, session.run(None, {"X": NEW}), strict=True))
    assert outputs["label"].tolist() == model.predict(NEW).tolist()
    known = session.get_modelmeta().custom_metadata_map["classes"]
    assert json.loads(known) == NAMES.tolist()
    if "probabilities" in names:
        exact = np.asarray(
            model.predict_proba(NEW)
            if hasattr(model, "predict_proba")
            else model[-1].estimator_.predict_proba(model.transform(NEW))
        )
        np.testing.assert_allclose(outputs["probabilities"], exact, atol=2e-4)
    one = [session.run(["label"], {"X": x[None]})[0][0] for x in NEW]
    assert one == outputs["label"].tolist()


@pytest.mark.parametrize("name", LINEAR)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_folded_maps_predict_the_same(name, n_classes):
    keep = Y < n_classes
    classifier = CLASSIFIERS[name]
    model = make_pipeline(Motion(), TensorCRP(3), RobustScaler(), classifier)
    model.fit(X[keep], NAMES[Y[keep]])
    fast = fold_linear(model, float)
    assert fast.shape == SHAPE and fast.coef.shape == (n_classes, 4 * 4 * 3)
    assert [fast.predict_one(x) for x in NEW] == model.predict(NEW).tolist()
    if hasattr(classifier, "coef_"):
        scores = np.array([fast.scores_one(x) for x in NEW])
        scores = scores[:, 1] - scores[:, 0] if n_classes == 2 else scores
        exact = model.decision_function(NEW)
        np.testing.assert_allclose(scores, exact, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("scaler", SCALERS, ids=str)
def test_folded_scalers(scaler):
    model = make_pipeline(scaler, RidgeLDA(), LinearDiscriminantAnalysis())
    model.fit(X.reshape(36, -1), Y)
    fast = fold_linear(model, float)
    scores = np.array([fast.scores_one(x) for x in NEW.astype(float)])
    exact = model.decision_function(NEW.reshape(10, -1))
    np.testing.assert_allclose(scores, exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_folded_motion_of_pixels(kind):
    pixels = (40 * (X - X.min())).clip(0, 255).astype("uint8")
    model = make_pipeline(Motion(kind), TensorCRP(3), LinearDiscriminantAnalysis())
    fast = fold_linear(model.fit(pixels, Y), float)
    scores = np.array([fast.scores_one(x) for x in pixels])
    np.testing.assert_allclose(scores, model.decision_function(pixels), atol=1e-6)


def test_what_is_not_folded():
    with pytest.raises(ValueError, match="SVC is not a linear"):
        fold_linear(make_pipeline(TensorCRP(2), SVC()).fit(X, Y))
    flat = X.reshape(36, -1)
    model = make_pipeline(Normalizer(), RidgeLDA(), NearestCentroid()).fit(flat, Y)
    with pytest.raises(ValueError, match=r"Normalizer.* is not linear"):
        fold_linear(model)
