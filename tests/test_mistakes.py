"""What a comparison keeps of its wrong answers, and what its report shows of them."""

import json
import re
from html import escape

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import cli
from tensorcrp.base.pixels import png_address, strip
from tensorcrp.base.results import chosen
from tensorcrp.baselines import RidgeLDA
from tensorcrp.datasets import make_moving_shapes, read_tensors
from tensorcrp.experiments import compare_methods
from tensorcrp.experiments.data import load_data
from tensorcrp.experiments.earlier_rows import compact
from tensorcrp.experiments.errors import BadRequest
from tensorcrp.experiments.evidence_page import slim
from tensorcrp.experiments.mistakes import MOST_WRONG, mistakes
from tensorcrp.experiments.random_splits import split
from tensorcrp.experiments.registry import method
from tensorcrp.experiments.runs import Run, execute, run_defect
from tensorcrp.experiments.samples_page import best_cell, mistake_parts, often_wrong
from tensorcrp.experiments.store import as_line
from tensorcrp.experiments.summaries import ResultRows

HOW = {"per_class": 3, "repeats": 2}


@pytest.fixture
def birds(tmp_path):
    """A file whose classes have names, and overlap."""
    rng, y = np.random.default_rng(0), np.arange(60) % 3
    X = 0.7 * rng.standard_normal((3, 4, 3))[y] + rng.standard_normal((60, 4, 3))
    np.savez(tmp_path / "birds.npz", X=X, y=np.array(["<owl>", "rook", "wren"])[y])
    return str(tmp_path / "birds.npz")


def test_the_record_is_that_of_the_chosen_setting(birds):
    """Fit, 1-NN and confusion by scikit-learn, at the setting that the row chooses."""
    data = load_data(birds)
    row = execute(Run(birds, data.checksum, 5, 0, 0, "RidgeLDA"))
    best = chosen([row], "1-NN", "honest")[0]
    train, test = split(data, 5, 0, 0)
    lda = RidgeLDA(reg=method("RidgeLDA").settings[best])
    lda.fit(data.X[train], data.y[train])
    nearest = KNeighborsClassifier(1).fit(lda.transform(data.X[train]), data.y[train])
    guess = nearest.predict(lda.transform(data.X[test]))
    found = row["mistakes"]
    assert found["classifier"] == "1-NN"
    assert found["confusion"] == confusion_matrix(data.y[test], guess).tolist()
    wrong = [[i, data.y[i], g] for i, g in zip(test, guess, strict=True)]
    wrong = [line for line in wrong if line[1] != line[2]]
    assert len(wrong) > 3 and np.ptp([line[1] for line in wrong]) == 2
    assert len(wrong) <= MOST_WRONG and found["wrong"] == wrong


def record_of(truth, guess, c):
    right = int((truth == np.asarray(guess)).sum())
    row = {"classifiers": {"1-NN": {"right": [right]}}, "n_classes": c}
    row |= {"n_test": len(truth), "ties": "strongest"}
    return mistakes(row, {"1-NN": [guess]}, truth, 100 + np.arange(len(truth)))


def test_a_record_stays_small():
    truth = np.repeat(np.arange(41), 5)
    found = record_of(truth, (truth + 1) % 41, 41)["mistakes"]
    assert "confusion" not in found and len(found["wrong"]) == MOST_WRONG
    assert found["wrong"][0] == [100, 0, 1] and found["wrong"][-1] == [304, 40, 0]
    assert record_of(truth, truth, 41)["mistakes"]["wrong"] == []


def test_answers_that_are_no_class_give_no_record():
    truth = np.arange(6) % 2
    assert record_of(truth, np.array([0, 1, 0, 1, 0, -1]), 2) == {}
    assert record_of(truth, np.array(list("ababab")), 2) == {}
    assert record_of(truth, truth.astype(float), 2)["mistakes"]["confusion"] == [
        *([3, 0], [0, 3])
    ]


def test_rows_on_the_pages_have_no_record(birds):
    (row,) = compare_methods(birds, methods="raw", per_class=3, repeats=1)
    assert "mistakes" in row and "mistakes" not in slim(row)
    assert "mistakes" not in compact([row])


def test_a_damaged_record_is_found(birds):
    (row,) = compare_methods(birds, methods="raw", per_class=3, repeats=1)
    assert run_defect(json.loads(as_line(row))) is None
    found = row["mistakes"]
    more = np.add(found["confusion"], 1).tolist()
    for edit in (
        *([1], {}, {**found, "classifier": "other"}, {**found, "wrong": [[1, 2]]}),
        *({**found, "confusion": more}, {**found, "confusion": [["a"] * 3] * 3}),
    ):
        assert "mistakes" in run_defect({**row, "mistakes": edit})


def test_the_report_sums_the_splits_and_names_classes(birds, tmp_path):
    out = tmp_path / "out"
    rows = compare_methods(birds, methods=["raw", "RidgeLDA"], out=out, **HOW)
    cell = best_cell(ResultRows(rows), birds)
    total = np.sum([row["mistakes"]["confusion"] for row in cell], axis=0)
    page = (out / "report.html").read_text()
    (table,) = re.findall(r'by predicted class" .*?</table>', page)
    names = ["&lt;owl&gt;", "rook", "wren"]
    assert re.findall(r'<th scope="row">(.*?)</th>', table) == names
    cells = re.findall(r"<td[^>]*>(.*?)</td>", table)
    assert [0 if text == "·" else int(text) for text in cells] == total.ravel().tolist()
    assert "Misclassified files" not in page  # of a file of arrays


def test_old_rows_still_make_a_report(birds, tmp_path):
    rows = compare_methods(birds, methods=["raw"], **HOW)
    old, out = [without(row, "mistakes") for row in rows], tmp_path / "out"
    out.mkdir()
    (out / "rows.jsonl").write_text("".join(map(as_line, old)))
    assert compare_methods(birds, methods=["raw"], out=out, **HOW) == old
    page = (out / "report.html").read_text()
    assert "the rows do not hold it" in page and "by predicted class" not in page


def without(row, field):
    return {name: value for name, value in row.items() if name != field}


def test_a_report_without_the_data_has_codes_for_names(birds):
    rows = compare_methods(birds, methods=["raw"], **HOW)
    moved = [{**row, "data": "gone.npz"} for row in rows]
    with pytest.raises(BadRequest):
        load_data("gone.npz")
    (part,) = mistake_parts(ResultRows(moved))
    assert '<th scope="row">0</th>' in part.html and "rook" not in part.html


def test_misclassified_clips_are_shown_as_they_were_decoded(tmp_path):
    """Also where methods see centred frames: pictures are of the pixels."""
    folder, out = tmp_path / "clips", tmp_path / "out"
    make_moving_shapes(6, 4, folder=folder, random_state=0)
    command = ["compare", str(folder), "--methods", "raw", "--per-class", "3"]
    command += ["--repeats", "2", "--frames", "4", "--size", "8", "8", "--jobs", "1"]
    assert cli.main([*command, "--motion", "centred", "--out", str(out)]) == 0
    clips = read_tensors(folder, frames=4, size=(8, 8))
    rows = list(map(json.loads, (out / "rows.jsonl").read_text().splitlines()))
    page = (out / "report.html").read_text()
    shown = page.partition("Misclassified files")[2]
    found = often_wrong(rows)
    assert found and shown.count("<figure") == min(8, len(found))
    for (i, true, guess), _ in found[:8]:
        assert clips.target[i] == true != guess
        names = clips.target_names[true], clips.target_names[guess]
        assert f"{names[0]} taken for {names[1]}" in shown
        assert escape(str(clips.files[i])) in shown
        assert png_address(strip(clips.data[i])) in shown
    assert not re.search(r'(src|href)="(?!data:)', page)


def test_files_that_are_often_wrong_come_first():
    wrong = [[[5, 0, 1], [6, 0, 1], [9, 1, 0]], [[6, 0, 1], [7, 0, 1]]]
    cell = [{"mistakes": {"wrong": each}} for each in wrong]
    order = [(6, 0, 1), (5, 0, 1), (9, 1, 0), (7, 0, 1)]
    assert often_wrong([*cell, {}]) == list(zip(order, [2, 1, 1, 1], strict=True))
