"""Reports: plots that fit a phone, data, patterns of recordings, words for settings."""

import re

import mne
import numpy as np
import pytest
from browse_site import browse_report
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from tensorcrp import Patterns, TensorCRPCV
from tensorcrp.base.pixels import png_address, strip
from tensorcrp.datasets import make_moving_shapes, make_multichannel
from tensorcrp.experiments import compare_methods
from tensorcrp.experiments.samples_page import data_part
from tensorcrp.experiments.summaries import ResultRows
from tensorcrp.files import FileClassifier
from tensorcrp.report import write_fit_report
from tensorcrp.report.class_samples import class_examples
from tensorcrp.report.fit_report import _estimator_words
from tensorcrp.report.html_page import Part, page
from tensorcrp.report.plots import WIDTH, curve, dots, signed_bars

ROWS = [("a method of a long name", 100.0, 99.0, 100.0), ("b", 0.0, 0.0, 3.0)]
LETTER = 7.5  # pixels, wider than the mean letter of 12 pixels


def texts(svg):
    """Text, left and right end of every text of a plot, by a mean width of letters."""
    for tag, text in re.findall(r"<text([^>]*)>([^<]*)</text>", svg):
        x, width = float(re.search(r'x="([^"]+)"', tag)[1]), LETTER * len(text)
        anchor = re.search(r'text-anchor="(\w+)"', tag)
        share = {"middle": 0.5, "end": 1.0}.get(anchor and anchor[1], 0.0)
        yield text, x - share * width, x + (1 - share) * width


@pytest.mark.parametrize("guesses", [(25.0, 27.8), (50.0, 96.0), (2.0, 99.9)])
def test_all_text_of_a_plot_lies_inside(guesses):
    plot = dots(ROWS, list(zip(("chance", "largest class"), guesses, strict=True)))
    plots = [plot, signed_bars(["Fz", "EEG 001 of a cap"], np.array([-1.0, 2.0]), "t")]
    plots.append(curve(np.sin(np.arange(9)), np.linspace(-0.1, 0.75, 9), "t"))
    for each in plots:
        outside = [t for t, left, right in texts(each) if left < 0 or right > WIDTH]
        assert not outside
        assert "min-width" not in each


def test_each_way_of_guessing_has_its_own_line_and_label():
    plot = dots(ROWS, [("chance", 25.0), ("largest class", 40.0)])
    places = re.findall(r'class="guess(\d)" x1="([^"]+)"', plot)
    assert [which for which, _ in places] == ["0", "1"]
    zero, hundred = (
        float(re.search(rf'x="([^"]+)"[^>]*>{v}</text>', plot)[1]) for v in (0, 100)
    )
    shares = [(float(x) - zero) / (hundred - zero) for _, x in places]
    np.testing.assert_allclose(shares, [0.25, 0.4], atol=1e-3)
    assert {"chance", "largest class"} <= {text for text, *_ in texts(plot)}
    assert "dashed: chance 25.0 %; dotted: largest class 40.0 %" in plot
    one = dots(ROWS, [("chance", 50.0), ("largest class", 50.0)])
    assert one.count('class="guess') == 1 and ">chance, largest class<" in one


@pytest.mark.parametrize("form", ["class of a long name {}", "{} is a class of many"])
def test_long_names_are_told_apart(form):
    rows = [(form.format(i), 50.0, 40.0, 60.0) for i in range(12)]
    plot = dots(rows, [("chance", 50.0)])
    shown = [text for text, *_ in texts(plot) if "…" in text]
    assert len(set(shown)) == 12 and max(map(len, shown)) == 18


def test_bars_are_the_values():
    values = np.array([0.5, -2.0, 1.0])
    plot = signed_bars(["a", "b", "c"], values, "t")
    bars = re.findall(r'<rect class="area" x="([^"]+)" y="\d+" width="([^"]+)"', plot)
    left, width = np.array(bars, float).T
    np.testing.assert_allclose(width / width.max(), [0.25, 1.0, 0.5], atol=0.01)
    assert left[0] == pytest.approx(left[2]) and left[1] + width[1] == left[0]


def test_python_is_put_into_words():
    model = make_pipeline(StandardScaler(), SVC(kernel="linear", C=2.0))
    assert _estimator_words(model) == "StandardScaler, then SVC (C 2.0, kernel linear)"


def test_examples_are_thumbnails_or_film_strips():
    X = np.random.default_rng(0).random((6, 8, 8))
    how = (["a", "b"], [[0, 2], [1, 3, 5]])
    found = class_examples(*how, X.__getitem__, lambda i: "")
    assert png_address(strip(X[[0, 2]])) in found and found.count("<figure") == 2
    clips = X[:, None].repeat(4, axis=1)
    found = class_examples(*how, clips.__getitem__, lambda i: f"{i}.mp4")
    assert png_address(strip(clips[3])) in found and "b: 3.mp4" in found
    found = class_examples(*how, lambda i: None, lambda i: f"x[{i}]")
    assert "<figure" not in found and "a: x[2]" in found


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A model of epochs in volts, its report, and the epochs."""
    folder = tmp_path_factory.mktemp("epochs")
    made = make_multichannel(40, n_channels=20, n_classes=2, n_times=24, random_state=0)
    names = [f"E{c:02d}" for c in range(20)]
    info = mne.create_info(names, made.fs, "eeg")
    events = np.column_stack([np.arange(40) * 24, np.zeros(40, int), made.target + 1])
    how = {"event_id": {"left": 1, "right": 2}, "tmin": 0.1, "verbose": False}
    epochs = mne.EpochsArray(1e-6 * made.data, info, events, **how)
    epochs.save(folder / "a-epo.fif", verbose=False)
    grid = TensorCRPCV(ranks=(1,), regs=(0.1, 1.0, 10.0), n_components=(1,))
    model = FileClassifier(search=grid, cv=2).fit(folder / "a-epo.fif")
    report = write_fit_report(model, folder).read_text()
    return model, report, epochs.get_data(copy=True, verbose=False)


def test_the_report_of_epochs_names_channels_of_patterns(recorded):
    model, report, X = recorded
    part = report.partition("<h2>Patterns</h2>")[2].partition("<h2>")[0]
    found = Patterns.from_estimator(model.model_, X).factors[0][0, :, 0]
    order = np.argsort(-np.abs(found))[:16]
    assert re.findall(r">(E\d\d)</text>", part) == [f"E{c:02d}" for c in order]
    shown = np.array(re.findall(r">([+-][\d.]+)</text>", part), float)
    np.testing.assert_allclose(shown, found[order] / np.abs(found).max(), atol=0.01)
    assert "16 strongest of 20 channels" in part
    ends = [f">{t:.3g}</text>" for t in model.reader_["times"][[0, -1]]]
    assert all(end in part for end in ends)
    assert "Projections" not in report


def test_arrays_that_are_pictures_are_shown(tmp_path):
    """As in the report of a comparison: those of several files, each class in a row."""
    rng, y = np.random.default_rng(0), np.arange(24) % 2
    X = rng.random((24, 6, 5)) + y[:, None, None]
    for i in range(2):
        (tmp_path / "in").mkdir(exist_ok=True)
        np.savez(tmp_path / "in" / f"{i}.npz", X=X[12 * i :][:12], y=y[12 * i :][:12])
    grid = TensorCRPCV(ranks=(1,), regs=(1.0,))
    model = FileClassifier(search=grid, cv=2).fit(tmp_path / "in")
    report = write_fit_report(model, tmp_path).read_text()
    for c in range(2):
        assert png_address(strip(X[y == c][:8])) in report


def test_epochs_have_no_list_of_names_for_examples(recorded):
    assert "Examples" not in recorded[1]


def test_settings_are_words(recorded):
    report = recorded[1].partition("<h2>Settings</h2>")[2]
    cells = re.findall(r"<td>(.*?)</td>", report)
    assert "20 (channel) x 24 (time)" in cells and "ridge" in cells
    assert not [cell for cell in cells if "=" in cell or "_" in cell]


def test_the_report_of_a_comparison_shows_the_data(tmp_path):
    rng, y = np.random.default_rng(0), np.arange(31) % 3
    X = rng.standard_normal((31, 5, 4)) + y[:, None, None]
    np.savez(tmp_path / "a.npz", X=X, y=np.array(["<owl>", "rook", "wren"])[y])
    rows = compare_methods(
        str(tmp_path / "a.npz"), methods=["raw"], per_class=3, repeats=1, out=tmp_path
    )
    text = (tmp_path / "report.html").read_text()
    part = text.partition("<h2>Data</h2>")[2].partition("<h2>")[0]
    cells = re.findall(r"<td>(.*?)</td>", part)
    assert cells == ["&lt;owl&gt;", "11", "rook", "10", "wren", "10"]
    assert png_address(strip(X[y == 0][:8])) in part
    gone = data_part(ResultRows([{**row, "data": "gone.npz"} for row in rows]))
    assert "3 classes" in gone.html and "not here any more" in gone.html


@pytest.mark.browser
def test_reports_of_a_folder_as_pictures(tmp_path):
    """What a reader sees, at both widths and in both themes: look at them."""
    make_moving_shapes(6, 2, folder=tmp_path / "clips", random_state=0)
    how = {"options": {"frames": 4, "size": (8, 8)}, "per_class": 3, "repeats": 2}
    methods = ["TensorCRP", "RidgeLDA", "RBF SVM", "raw"]
    out = tmp_path / "compared"
    compare_methods(str(tmp_path / "clips"), methods=methods, out=out, **how)
    for name in ("report.html", "leaderboard.html"):
        assert not browse_report(out / name, tmp_path / "pictures")
    taken = sorted(path.name for path in (tmp_path / "pictures").iterdir())
    assert len(taken) == 8 and "report.phone-dark.png" in taken
    print(f"look at {tmp_path / 'pictures'}")


@pytest.mark.browser
def test_a_reader_notices_text_that_is_cut_off(tmp_path):
    good = dots(ROWS, [("chance", 25.0), ("largest class", 27.8)])
    harmed = good.replace('class="plot"', 'style="min-width:30rem"')
    box = f'<div style="overflow-x: auto">{harmed}</div>'
    for name, html in {"good": good, "cut": box}.items():
        (tmp_path / f"{name}.html").write_text(page("t", [Part("p", html)]))
    assert not browse_report(tmp_path / "good.html", tmp_path / "out")
    found = browse_report(tmp_path / "cut.html", tmp_path / "out")
    assert found and all("phone" in line and "100.0" in line for line in found)
