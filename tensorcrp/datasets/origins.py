"""The registry: which data sets there are, where they come from, what they hold.

In: the file that a source offers. Out: arrays X (n, l_1, ..., l_N) and y (n,), and
further arrays by name. `SOURCES` pins every set by a checksum of its arrays, so it
does not matter in which file they came.
"""

from dataclasses import dataclass
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from tensorcrp.datasets._read import read_tensors

VARIABLE = "TENSORCRP_DATA"  # of the environment: a folder of NAME.npz files


@dataclass(frozen=True)
class Origin:
    """A data set of the registry.

    Attributes
    ----------
    shape : tuple of int
        Shape of X.
    mode_names : tuple of str
    checksum : str
        See `checksum`.
    title : str
        What it is and whose it is.
    url : str or None
        Where the file comes from; None where somebody has to prepare it by hand.
    read : callable
        From that file to a dict of arrays with X and y.
    names : str or tuple
        Names of the classes, or the array that holds them.
    """

    shape: tuple
    mode_names: tuple
    checksum: str
    title: str
    url: str | None = None
    read: object = None
    names: object = None

    @property
    def file(self):
        """Name of the file at the source."""
        return None if self.url is None else self.url.rsplit("/", 1)[-1]


def checksum(X, y):
    """SHA-256 of the types, shapes and entries of both arrays."""
    digest = sha256()
    for array in (X, y):
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def _matlab(dtype, **how):
    """Reader of a ``.mat`` file; entries are stored with the given type."""

    def read(path):
        found = read_tensors(path, **how)
        X = np.ascontiguousarray(found.data.astype(dtype))
        return {"X": X, "y": found.target.astype(np.int16)}

    return read


def indian_pines():
    """5x5 patches round 100 random pixels of every class with 200 or more.

    Cut out of the scene that tensorly ships; None if this tensorly does not.
    """
    folder = Path(find_spec("tensorly").origin).parent / "datasets" / "data"
    files = [folder / f"Indian_pines_{part}.npy" for part in ("gt", "corrected")]
    if not all(file.exists() for file in files):
        return None
    labels, scene = (np.load(file, allow_pickle=False) for file in files)
    scene = np.pad(scene, ((2, 2), (2, 2), (0, 0)), mode="reflect")
    rng, y, places = np.random.RandomState(0), [], []
    for label in range(1, labels.max() + 1):
        pixels = np.argwhere(labels == label)
        if len(pixels) >= 200:
            chosen = np.sort(rng.choice(len(pixels), 100, replace=False))
            places.append(pixels[chosen])
            y += [label] * 100
    places = np.concatenate(places)
    X = np.stack([scene[r : r + 5, c : c + 5] for r, c in places])
    return {"X": X, "y": np.array(y, np.int16), "rowcol": places.astype(np.int16)}


_IMAGE = ("row", "column")
_FILM = ("row", "column", "time")
_GITHUB = "https://raw.githubusercontent.com"

SOURCES = {
    "basic_motions": Origin(
        (80, 6, 100),
        ("channel", "time"),
        "57c301f1dd5817adf1830994c60fc795e6626fb8389dcb26af04f23678b5970f",
        "Smart-watch motions, UEA archive.",
        names="names",
    ),
    "binalpha": Origin(
        (1404, 20, 16),
        _IMAGE,
        "edd5afc358c70fd54cca6230a181e2d9aab285db2bf4546232d74d013d53b7bd",
        "Binary Alphadigits, S. Roweis.",
        names=tuple("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    ),
    "cmu_faces": Origin(
        (624, 30, 32),
        _IMAGE,
        "b1b12a2eaebdca392b4b5e618a0e37a63e315d46fd8eb4304d29df35cb970bf9",
        "CMU face images by head pose, T. Mitchell, CC BY 4.0.",
        names="pose_names",
    ),
    "coil20": Origin(
        (1440, 32, 32),
        _IMAGE,
        "21a3e4c45d9178634770ad66223b1d85a4e6a7b20c25cea7615eb11f24078bd5",
        "COIL-20 objects, Nene, Nayar and Murase, Columbia University.",
        f"{_GITHUB}/jundongl/scikit-feature/master/skfeature/data/COIL20.mat",
        _matlab(np.float64, data="X", target="Y", sample_shape=(32, 32)),
    ),
    "eeg_finger": Origin(
        (416, 28, 50),
        ("channel", "time"),
        "9fc6ad0b32e2233d9336ac7775f23c550649b56f2b85d995000b5c9b03cac66e",
        "EEG before key presses, BCI Competition II set IV, Blankertz et al.",
        names=("left", "right"),
    ),
    "gait_usf": Origin(
        (731, 32, 22, 10),
        _FILM,
        "8a58ce92199276ced0e6a84419ed2dc136044d9226e723ae43318ce3cd83d573",
        "USF gait silhouettes; cite Lu et al., MPCA, IEEE TNN 19(1), 2008.",
        "https://github.com/pykale/data/raw/main/videos/gait/gait_gallery_data.mat",
        _matlab(np.uint8, data="fea3D", target="gnd", samples="last"),
    ),
    "indian_pines": Origin(
        (1200, 5, 5, 200),
        ("row", "column", "band"),
        "cdee570ac4ddb32e117bec4b9f9cf197799f8c264dae57a6901c5bbfbdfa09ba",
        "Indian Pines hyperspectral patches, Purdue University; tensorly ships them.",
    ),
    "mnist5k": Origin(
        (5000, 28, 28),
        _IMAGE,
        "4502bd608d5e472cc84197ea73cb2f9c1385547e17b30fc5394303325b4da7de",
        "5,000 digits of MNIST, LeCun, Cortes and Burges, CC BY-SA 3.0.",
    ),
    "orl": Origin(
        (400, 32, 32),
        _IMAGE,
        "7490ab7d8e6b4f585c8ebd67661704f2c6d719b421a5d8c4626ba23468fabb8c",
        "ORL faces, Olivetti Research Laboratory, cropped by D. Cai.",
        f"{_GITHUB}/jundongl/scikit-feature/master/skfeature/data/ORL.mat",
        _matlab(np.uint8, data="X", target="Y", sample_shape=(32, 32)),
    ),
    "umist": Origin(
        (575, 32, 32),
        _IMAGE,
        "9167b622246412444656b9ce21bf534359dd7ae05c329a291c5919c66d7b98fa",
        "UMIST faces, Graham and Allinson.",
    ),
    "usps": Origin(
        (9298, 16, 16),
        _IMAGE,
        "6ef156e05b6224c20bd11aa9b70d8d97c448f15ccc1c3adab428123183e82b81",
        "USPS digits, Le Cun et al.",
    ),
    "weizmann": Origin(
        (575, 33, 26, 16),
        _FILM,
        "5cd971a3a5324eee2553c11905f6e46118062ca9f796c857230e7af4add09a53",
        "Weizmann action silhouettes, Gorelick et al.; keep subjects apart.",
        names="action_names",
    ),
    "yaleb": Origin(
        (2414, 32, 32),
        _IMAGE,
        "1794bfd019d4ea7e1f5aeba868dc4f31292a70080868a668fdbe6c910ffd5dbe",
        "Extended Yale B faces, Georghiades et al., cropped by D. Cai.",
        f"{_GITHUB}/tansyab1/CNN-Sparse/HEAD/data/YaleB_32x32_ori.mat",
        _matlab(np.uint8, data="fea", target="gnd", sample_shape=(32, 32)),
    ),
}
