"""Video files there and back, bad files, memory, and motion classes from mp4."""

import os
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from disks import small_disk, small_files
from pairs import pairs
from scipy.ndimage import gaussian_filter
from sklearn.neighbors import KNeighborsClassifier

from tensorcrp import TensorCRP
from tensorcrp.baselines import RidgeLDA
from tensorcrp.datasets import make_moving_shapes
from tensorcrp.video import (
    ClipError,
    _opening,
    labelled_files,
    read_clips,
    write_clip,
)
from tensorcrp.video._decode import resize_area
from tensorcrp.video._write import CODECS


def film(frames, height, width, color=False, seed=0):
    """Smooth film, uint8, whose brightness rises from frame to frame."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal((frames, height, width))
    noise = gaussian_filter(noise, (0, 3, 3), mode="wrap")
    rise = np.linspace(40, 200, frames)[:, None, None]
    gray = np.clip(rise + 15 * noise / noise.std(), 0, 255)
    if not color:
        return gray.astype(np.uint8)
    tint = np.array([1.0, 0.8, 0.6])
    return (gray[..., None] * tint).astype(np.uint8)


# Mean absolute error allowed, in levels of 255.
TOLERANCE = {".mp4": 2.5, ".mov": 2.5, ".avi": 2.5, ".mkv": 0.0}


@pytest.mark.parametrize("suffix", TOLERANCE)
@pytest.mark.parametrize("color", ["gray", "rgb"])
@pytest.mark.parametrize(
    "shape", [(16, 32, 48), (7, 33, 47), (30, 18, 25), (1, 16, 16)]
)
def test_round_trip(suffix, color, shape, tmp_path):
    clip = film(*shape, color == "rgb")
    file = write_clip(tmp_path / f"a{suffix}", clip)
    X, y, files = read_clips(
        [file], shape[0], shape[1:], color=color, dtype="uint8", progress=False
    )
    assert X.shape == (1, *clip.shape) and y is None and files == [str(file)]
    error = np.abs(X[0].astype(float) - clip)
    assert error.mean() <= TOLERANCE[suffix]
    assert error.max() <= 10 * TOLERANCE[suffix]
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


@pytest.mark.parametrize("suffix, codec", [(".mp4", "libx264"), (".avi", "mjpeg")])
def test_container_and_codec_are_what_the_name_says(suffix, codec, tmp_path):
    file = write_clip(tmp_path / f"a{suffix}", film(3, 16, 16))
    with av.open(str(file)) as container:
        assert suffix[1:] in container.format.name
        assert container.streams.video[0].codec_context.codec.name in (codec, "h264")


@pytest.mark.parametrize("suffix", [".mp4", ".mkv", ".mov"])
def test_variable_frame_rate(suffix, tmp_path):
    """Every frame once and in order, however long it is shown."""
    clip = film(20, 16, 24)
    times = np.cumsum(np.random.default_rng(0).uniform(0.01, 0.5, 20))
    file = write_clip(tmp_path / f"a{suffix}", clip, times=times)
    with av.open(str(file)) as container:
        shown = [frame.time for frame in container.decode(video=0)]
    np.testing.assert_allclose(np.diff(shown), np.diff(times), atol=1.1e-3)
    X = read_clips([file], 20, (16, 24), dtype="uint8").data
    assert np.abs(X[0].astype(float) - clip).mean() < 2.5


def test_float_and_uint8_agree(tmp_path):
    file = write_clip(tmp_path / "a.mkv", film(4, 12, 12) / 255.0)
    floats = read_clips([file], 4, (12, 12)).data
    levels = read_clips([file], 4, (12, 12), dtype="uint8").data
    assert floats.dtype == np.float32 and levels.dtype == np.uint8
    np.testing.assert_allclose(floats * 255, levels, atol=1e-4)


def test_gray_file_as_rgb_and_back(tmp_path):
    gray = write_clip(tmp_path / "gray.mkv", film(3, 12, 14))
    rgb = read_clips([gray], 3, (12, 14), color="rgb", dtype="uint8").data
    assert np.abs(rgb[0].astype(float) - film(3, 12, 14)[..., None]).max() <= 1
    colour = film(3, 12, 14, color=True)
    file = write_clip(tmp_path / "rgb.mkv", colour)
    luma = colour @ np.array([0.299, 0.587, 0.114])
    found = read_clips([file], 3, (12, 14), dtype="uint8").data
    assert np.abs(found[0] - luma).max() < 2.5


def test_resized_pixels_are_means_of_areas():
    image = np.random.default_rng(0).uniform(0, 255, (12, 20, 3)).astype(np.float32)
    blocks = image.reshape(4, 3, 5, 4, 3).mean(axis=(1, 3))
    np.testing.assert_allclose(resize_area(image, (4, 5)), blocks, rtol=1e-5)
    # Sizes that do not divide: the same as through the least common multiple.
    fine = image[:, :, 0].repeat(7, axis=0).repeat(3, axis=1)
    direct = fine.reshape(7, 12, 3, 20).mean(axis=(1, 3))
    np.testing.assert_allclose(resize_area(image[:, :, 0], (7, 3)), direct, rtol=1e-5)
    levels = image.astype(np.uint8)
    exact = resize_area(levels.astype(float), (5, 6))
    np.testing.assert_allclose(resize_area(levels, (5, 6)), exact, rtol=1e-12)
    constant = resize_area(np.full((5, 7), 9.0), (11, 13))
    np.testing.assert_allclose(constant, 9.0, rtol=1e-6)


def test_frames_are_sampled_as_said(tmp_path):
    file = write_clip(tmp_path / "a.mkv", film(23, 8, 8))
    whole = read_clips([file], 23, (8, 8)).data[0]
    uniform = read_clips([file], 5, (8, 8))
    np.testing.assert_array_equal(uniform.data[0], whole[[0, 6, 11, 16, 22]])
    center = read_clips([file], 5, (8, 8), sampling="center")
    np.testing.assert_array_equal(center.data[0], whole[9:14])
    assert center.starts.tolist() == [9]
    one = read_clips([file], 1, (8, 8))
    np.testing.assert_array_equal(one.data[0, 0], whole[11])
    for stride, starts in {None: [0, 10], 4: [0, 4, 8, 12]}.items():
        cut = read_clips([file], 10, (8, 8), sampling="windows", stride=stride)
        np.testing.assert_array_equal(cut.data, [whole[s : s + 10] for s in starts])
        assert cut.starts.tolist() == starts and cut.files == [str(file)] * len(starts)


@pytest.fixture
def folder(tmp_path):
    """Two classes of three clips, of different lengths, sizes and containers."""
    for c, name in enumerate(("jump", "walk")):
        (tmp_path / name).mkdir()
        for i, suffix in enumerate((".mp4", ".avi", ".mkv")):
            clip = film(8 + 5 * i, 20 + 3 * i, 31, seed=10 * c + i)
            write_clip(tmp_path / name / f"{i}{suffix}", clip)
    (tmp_path / "walk" / ".hidden").write_text("not looked at")
    (tmp_path / "walk" / "Thumbs.db").write_text("not looked at")
    return tmp_path


def test_labels_from_subfolders(folder):
    clips = read_clips(folder, 8, (16, 16))
    assert clips.data.shape == (6, 8, 16, 16)
    assert clips.target.tolist() == [0, 0, 0, 1, 1, 1]
    assert clips.target_names == ["jump", "walk"] and clips.skipped == []
    assert [Path(f).name for f in clips.files] == ["0.mp4", "1.avi", "2.mkv"] * 2
    assert clips.mode_names == ("time", "row", "column")
    assert (np.diff(clips.data.mean(axis=(2, 3)), axis=1) > 0).all()  # in order


@pytest.mark.parametrize("sampling", ["uniform", "windows"])
def test_threads_and_memory_maps_give_the_same(folder, sampling, tmp_path):
    plain = read_clips(folder, 6, (9, 9), sampling=sampling)
    threads = read_clips(folder, 6, (9, 9), sampling=sampling, n_jobs=3)
    np.testing.assert_array_equal(threads.data, plain.data)
    path = tmp_path / "X.npy"
    mapped = read_clips(folder, 6, (9, 9), sampling=sampling, memmap=path, n_jobs=-1)
    assert isinstance(mapped.data, np.memmap)
    np.testing.assert_array_equal(mapped.data, plain.data)
    np.testing.assert_array_equal(np.load(path), plain.data)
    assert mapped.target.tolist() == plain.target.tolist()
    assert not list(tmp_path.glob(".*part"))


def test_pictures_taken_sideways_are_turned(tmp_path):
    """Telephones store a rotation beside the picture; players obey it."""
    clip = film(2, 12, 20)
    with av.open(str(tmp_path / "a.mp4"), "w") as container:
        stream = container.add_stream("libx264", rate=25, options={"crf": "5"})
        stream.width, stream.height, stream.pix_fmt = 20, 12, "yuv420p"
        turned = hasattr(stream, "set_display_rotation")  # PyAV 16 and later
        if turned:
            stream.set_display_rotation(90)
        for image in clip:
            frame = av.VideoFrame.from_ndarray(image, format="gray")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    X = read_clips([tmp_path / "a.mp4"], 2, (20, 12) if turned else (12, 20)).data
    upright = np.rot90(clip, 1, axes=(1, 2)) if turned else clip
    assert np.abs(X[0] * 255 - upright).mean() < 3


# Bad input --------------------------------------------------------------------------


def corrupt(path):
    path.write_bytes(b"\x00\x00\x00\x20ftypisom" + bytes(range(256)) * 40)


def cut_in_half(path):
    write_clip(path, film(40, 64, 64))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])


def cut_with_index_first(path):
    """Its index is whole and points past the end."""
    whole = path.with_suffix(".whole.mp4")
    with av.open(str(whole), "w", options={"movflags": "faststart"}) as container:
        stream = container.add_stream("libx264", rate=25)
        stream.width, stream.height, stream.pix_fmt = 64, 64, "yuv420p"
        for image in film(40, 64, 64):
            frame = av.VideoFrame.from_ndarray(image, format="gray")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    path.write_bytes(whole.read_bytes()[:-1500])
    whole.unlink()


def sound_only(path):
    with av.open(str(path), "w", format="wav") as container:
        stream = container.add_stream("pcm_s16le", rate=8000)
        frame = av.AudioFrame.from_ndarray(
            np.zeros((1, 800), np.int16), format="s16", layout="mono"
        )
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode())


def playlist(path):
    path.write_text("#EXTM3U\n#EXTINF:1,\nhttp://127.0.0.1:9/a.ts\n#EXT-X-ENDLIST\n")


def no_decoder(path):
    write_clip(path, film(8, 16, 16))
    path.write_bytes(path.read_bytes().replace(b"avc1", b"zzzz"))


def too_large(path):
    """A file of few bytes that announces frames of 12000 x 12000 pixels."""
    data = bytearray(mux(path, "gif", n=8).read_bytes())
    data[6:10] = struct.pack("<HH", 12000, 12000)
    path.write_bytes(data)


BAD = {
    "empty": ("x.mp4", lambda path: path.touch(), "is empty: copy it again"),
    "corrupt": ("x.mp4", corrupt, "cannot be decoded|holds no picture"),
    "cut mp4": ("x.mp4", cut_in_half, "cannot be decoded|cut off"),
    "cut index": ("x.mp4", cut_with_index_first, "cannot be decoded|cut off"),
    "cut avi": ("x.avi", cut_in_half, "cannot be decoded|cut off"),
    "text as mp4": ("x.mp4", lambda path: path.write_text("hello " * 99), "decoded"),
    "text": ("x.txt", lambda path: path.write_text("hello\n" * 99), "not a video"),
    "sound": ("x.wav", sound_only, "is not a video"),
    "playlist": ("x.m3u8", playlist, "cannot be decoded|not a video"),
    "no decoder": ("x.mp4", no_decoder, "codec that FFmpeg does not know"),
    "too large": ("x.gif", too_large, "cannot be decoded"),
    "short": ("x.mp4", lambda path: write_clip(path, film(5, 16, 16)), "frames=5 or"),
}


@pairs(kind=list(BAD), sampling=["uniform", "windows"], n_jobs=[1, 2])
def test_bad_files_are_named_or_skipped(kind, sampling, n_jobs, folder):
    name, write, words = BAD[kind]
    bad = folder / "jump" / name
    how = {"frames": 8, "size": (9, 9), "sampling": sampling, "n_jobs": n_jobs}
    good = read_clips(folder, **how)
    write(bad)
    with pytest.raises(ClipError, match=words) as error:
        read_clips(folder, **how)
    assert str(bad) in str(error.value)
    with pytest.warns(UserWarning, match=f"skipped 1 of 7 files: .*{name}"):
        clips = read_clips(folder, **how, on_error="skip")
    assert [path for path, _ in clips.skipped] == [str(bad)]
    assert str(bad) in clips.skipped[0][1]
    np.testing.assert_array_equal(clips.data, good.data)
    assert clips.target.tolist() == good.target.tolist()
    assert clips.files == good.files


def test_an_error_leaves_no_threads_behind(folder):
    """While the error is still held: the collector must have nothing to clean up."""
    (folder / "jump" / "00.mp4").touch()  # first, so that others wait
    before = set(threading.enumerate())
    with pytest.raises(ClipError) as error:
        read_clips(folder, 8, (9, 9), n_jobs=2)
    new = [thread.name for thread in set(threading.enumerate()) - before]
    assert error.value and not [n for n in new if n.startswith("ThreadPoolExecutor")]


def test_skipping_with_a_memory_map_shortens_the_file(folder, tmp_path):
    good = read_clips(folder, 8, (9, 9))
    for i, name in enumerate(("jump", "walk", "walk")):
        (folder / name / f"0{i}.mp4").touch()
    path = tmp_path / "X.npy"
    with pytest.warns(UserWarning, match="skipped 3 of 9"):
        clips = read_clips(folder, 8, (9, 9), on_error="skip", memmap=path)
    np.testing.assert_array_equal(clips.data, good.data)
    np.testing.assert_array_equal(np.load(path), good.data)
    before = path.read_bytes()
    with pytest.raises(ClipError):  # a failure leaves the old file whole
        read_clips(folder, 8, (9, 9), memmap=path)
    assert path.read_bytes() == before and not list(tmp_path.glob(".*part"))


def test_a_memory_map_that_cannot_be_written_is_known_at_once(folder, tmp_path):
    """Before any file is looked at: here none could be read."""
    for path in folder.rglob("*.*"):
        path.write_bytes(b"")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", folder, Path("/dev/null")):
        before = path.stat()
        with pytest.raises(ValueError, match="not a file; give the path of a file"):
            read_clips(folder, 8, (9, 9), memmap=path)
        assert path.stat().st_ino == before.st_ino
    with pytest.raises(FileNotFoundError, match="nowhere"):
        read_clips(folder, 8, (9, 9), memmap=tmp_path / "nowhere" / "X.npy")


def test_no_room_for_a_memory_map(folder, tmp_path_factory):
    """An error, where the system would kill the process that writes to the map."""
    disk = tmp_path_factory.mktemp("disk")
    with small_files(2**20), pytest.raises(OSError, match="for 12583040 bytes"):
        read_clips(folder, 8, (256, 256), memmap=disk / "X.npy")
    assert list(disk.iterdir()) == []


def test_a_full_disk(folder, tmp_path_factory):
    disk = tmp_path_factory.mktemp("disk")
    with small_disk(disk, 2**16) as mounted:
        if not mounted:
            pytest.skip("needs root and Linux; the test of limits is for everyone")
        with pytest.raises(OSError, match="No space"):
            read_clips(folder, 8, (64, 64), memmap=disk / "X.npy")
        noise = np.random.default_rng(0).integers(0, 256, (9, 99, 99), dtype=np.uint8)
        for suffix in CODECS:
            with pytest.raises(OSError, match="No space"):
                write_clip(disk / f"a{suffix}", noise.repeat(3, axis=0))
        assert list(disk.iterdir()) == []


def test_no_permission(folder):
    """Root may read everything, so it becomes somebody else for a moment."""
    with tempfile.TemporaryDirectory() as public:
        os.chmod(public, 0o755)
        for name in ("a", "b"):
            (Path(public) / name).mkdir()
            write_clip(Path(public) / name / "1.avi", film(8, 9, 9))
        secret = Path(public) / "b" / "2.avi"
        write_clip(secret, film(8, 9, 9)).chmod(0)
        root = os.geteuid() == 0
        try:
            if root:
                os.seteuid(65534)
            with pytest.raises(ClipError, match=r"2\.avi is denied.*chmod u\+r"):
                read_clips(public, 8, (9, 9))
            with pytest.warns(UserWarning, match="skipped 1 of 3"):
                clips = read_clips(public, 8, (9, 9), on_error="skip")
        finally:
            if root:
                os.seteuid(0)
        assert [path for path, _ in clips.skipped] == [str(secret)]


def test_folders_without_classes(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere is not a folder.*class/file"):
        read_clips(tmp_path / "nowhere")
    write_clip(tmp_path / "loose.avi", film(8, 9, 9))
    with pytest.raises(ValueError, match=r"no subfolder.*folder/class/file"):
        read_clips(tmp_path)
    (tmp_path / "only").mkdir()
    with pytest.raises(ValueError, match=r"only is empty; fill or remove"):
        read_clips(tmp_path)
    (tmp_path / "loose.avi").rename(tmp_path / "only" / "1.avi")
    with pytest.raises(ValueError, match=r"one class only, 'only'"):
        read_clips(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "bad.avi").touch()
    with (
        pytest.warns(UserWarning, match="skipped 1 of 2"),
        pytest.raises(ValueError, match=r"only files of the class 'only'.*bad.avi"),
    ):
        read_clips(tmp_path, 8, (9, 9), on_error="skip")
    (tmp_path / "only" / "1.avi").write_bytes(b"")
    with (
        pytest.warns(UserWarning, match="skipped 2 of 2"),
        pytest.raises(ValueError, match="no file could be read"),
    ):
        read_clips(tmp_path, 8, (9, 9), on_error="skip")
    with pytest.raises(ValueError, match="list of files is empty"):
        read_clips([])


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"frames": 0}, "frames must be an integer of at least 1, got 0"),
        ({"size": 32}, r"size must be \(height, width\).*got 32"),
        ({"size": (32, 0)}, r"size\[1\] must be an integer of at least 1"),
        ({"color": "bgr"}, "color.*got 'bgr'"),
        ({"sampling": "random"}, "sampling.*got 'random'"),
        ({"stride": 4}, 'stride=4 is for sampling="windows"'),
        ({"dtype": "float64"}, "dtype.*got 'float64'"),
        ({"on_error": "ignore"}, "on_error.*got 'ignore'"),
        ({"n_jobs": 0}, "n_jobs must be an integer of at least 1"),
    ],
)
def test_bad_arguments(arguments, words, folder):
    with pytest.raises(ValueError, match=words):
        read_clips(folder, **{"frames": 8, **arguments})


@pytest.mark.parametrize(
    "clip, how, words",
    [
        (np.zeros((3, 4)), {}, r"shape \(3, 4\); pass \(frames, height, width\)"),
        (np.zeros((3, 4, 4), int), {}, "dtype int64; pass at least one frame"),
        (np.zeros((0, 4, 4)), {}, "at least one frame"),
        (np.zeros((3, 8, 8)), {"times": [0, 2, 1]}, "3 rising numbers"),
    ],
)
def test_bad_clips_are_not_written(clip, how, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        write_clip(tmp_path / "a.mp4", clip, **how)
    with pytest.raises(ValueError, match=r"'a\.xyz' does not end in one of"):
        write_clip(tmp_path / "a.xyz", np.zeros((2, 8, 8)))
    assert list(tmp_path.iterdir()) == []


def test_another_encoder(tmp_path):
    file = write_clip(tmp_path / "a.mkv", film(4, 16, 16), codec="mpeg4", fps=29.97)
    with av.open(str(file)) as container:
        stream = container.streams.video[0]
        assert stream.codec_context.codec.name == "mpeg4"
        assert abs(stream.average_rate - Fraction(2997, 100)) < 0.05
    assert read_clips([file], 4, (16, 16)).data.shape == (1, 4, 16, 16)


def test_without_pyav_the_error_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "av", None)
    for call in (
        lambda: read_clips(folder),
        lambda: write_clip("a.mp4", film(1, 8, 8)),
    ):
        with pytest.raises(ImportError, match=r"pip install tensorcrp\[video\]"):
            call()


def test_listing_goes_deep_and_is_sorted(folder):
    (folder / "walk" / "more").mkdir()
    (folder / "walk" / "more" / "z.mp4").touch()
    files, codes, names = labelled_files(folder)
    assert len(files) == 7 and codes.tolist() == [0] * 3 + [1] * 4
    assert names == ["jump", "walk"] and files[-1].endswith("z.mp4")


def test_a_class_that_is_a_link_to_elsewhere_is_not_listed(
    folder, tmp_path_factory, monkeypatch
):
    (folder / "zoo").symlink_to(tmp_path_factory.mktemp("outside"))
    names, listed = os.listdir, []
    monkeypatch.setattr(os, "listdir", lambda path: listed.append(path) or names(path))
    with pytest.raises(ValueError, match=r"zoo is a link that leads out of"):
        labelled_files(folder)
    assert folder in listed and folder / "zoo" not in listed


# Other files ------------------------------------------------------------------------


def references(folder):
    """Files of formats that name other files; a.ts and a.mp4 lie beside them."""
    clip = film(20, 16, 16)
    write_clip(folder / "a.ts", clip, codec="libx264")
    write_clip(folder / "a.mp4", clip)
    hls = "#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:1,\n{}\n#EXT-X-ENDLIST\n"
    dash = (
        '<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" '
        'mediaPresentationDuration="PT1S"><Period><AdaptationSet><Representation '
        'id="1" mimeType="video/mp4" bandwidth="1"><BaseURL>a.mp4</BaseURL>'
        "</Representation></AdaptationSet></Period></MPD>"
    )
    sdp = (
        "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\n"
        "m=video 5004 RTP/AVP 96\na=rtpmap:96 H264/90000\n"
    )
    texts = {
        "absolute.m3u8": hls.format(folder / "a.ts"),
        "relative.m3u8": hls.format("a.ts"),
        "named.mp4": hls.format("a.ts"),
        "x.ffconcat": "ffconcat version 1.0\nfile a.mp4\n",
        "named.mkv": "ffconcat version 1.0\nfile a.mp4\n",
        "x.mpd": dash,
        "x.sdp": sdp,
        "x.txt": "hello\n" * 99,
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    return [folder / name for name in texts]


def test_formats_that_name_other_files_are_not_read(tmp_path):
    for path in references(tmp_path):
        with pytest.raises(ClipError, match=r"that name further files|decoded"):
            read_clips([path], 4, (9, 9))
    assert read_clips([tmp_path / "a.ts"], 4, (9, 9)).data.shape == (1, 4, 9, 9)


def test_a_container_cannot_lead_to_other_files(tmp_path, monkeypatch):
    """The second lock: no protocol at all, even for formats that may be read."""
    every = {key: value for key, value in _opening._OPTIONS.items() if "f" != key[0]}
    monkeypatch.setattr(_opening, "_OPTIONS", every)
    assert "format_whitelist" not in _opening._OPTIONS
    for path in references(tmp_path)[:-1]:  # without the text, which names nothing
        with pytest.raises(ClipError):
            read_clips([path], 4, (9, 9))


@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
def test_no_other_file_is_opened(tmp_path):
    """As the system sees it."""
    paths = references(tmp_path)
    code = (
        "import sys; from tensorcrp.video import read_clips\n"
        "for path in sys.argv[1:]:\n"
        "    try: read_clips([path], 4, (9, 9))\n"
        "    except ValueError: pass"
    )
    log = tmp_path / "log"
    command = [
        "strace",
        "-f",
        "--seccomp-bpf",
        "-o",
        log,
        "-e",
        "trace=openat,open,socket,connect",
    ]
    command += [sys.executable, "-c", code, *paths]
    subprocess.run(command, check=True, capture_output=True)
    lines = log.read_text().splitlines()
    assert sum(str(paths[0]) in line for line in lines) >= 1
    assert not [line for line in lines if "a.ts" in line or "a.mp4" in line]
    assert not [line for line in lines if "socket(" in line or "connect(" in line]


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_what_is_no_file_is_not_waited_for(kind, tmp_path):
    path = tmp_path / "x.mp4"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        path.mkdir()
    with pytest.raises(ClipError, match="not a regular file"):
        read_clips([path])


def test_folders_that_may_not_be_read(tmp_path):
    """Nobody knows how many files are in them, so they are not passed over."""
    with tempfile.TemporaryDirectory() as public:
        os.chmod(public, 0o755)
        for name in ("a", "b/more", "b/.hidden"):
            (Path(public) / name).mkdir(parents=True)
            (Path(public) / name / "1.mp4").touch()
        (Path(public) / "b" / "loop").symlink_to("loop")
        (Path(public) / "b" / "up").symlink_to("..")
        assert len(labelled_files(public)[0]) == 2
        root = os.geteuid() == 0
        try:
            for mode in (0, 0o444):
                (Path(public) / "b" / "more").chmod(mode)
                if root:
                    os.seteuid(65534)
                with pytest.raises(PermissionError, match=r"b/more is denied.*u\+rx"):
                    labelled_files(public)
                if root:
                    os.seteuid(0)
        finally:
            if root:
                os.seteuid(0)
            (Path(public) / "b" / "more").chmod(0o755)


# Files that were cut off ------------------------------------------------------------


def mux(path, codec, *, options=None, sound=None, live=False, n=30):
    """A film as FFmpeg writes it; `sound` in seconds, `live` without going back."""
    with open(path, "wb") as file:
        target = Pipe(file, path) if live else str(path)
        with av.open(target, "w", options=options or {}) as container:
            stream = container.add_stream(codec, rate=25)
            stream.width, stream.height, stream.pix_fmt = 48, 32, "yuv420p"
            if codec == "gif":
                stream.pix_fmt = "gray"
            tone = sound and container.add_stream("mp2", rate=44100)
            for image in film(n, 32, 48):
                frame = av.VideoFrame.from_ndarray(image, format="gray")
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
            if tone:
                hum(container, tone, sound)
    return path


def hum(container, stream, seconds):
    silence = np.zeros((1, 1152), np.int16)
    for i in range(int(seconds * 44100 / 1152)):
        frame = av.AudioFrame.from_ndarray(silence, format="s16", layout="mono")
        frame.sample_rate, frame.pts = 44100, 1152 * i
        container.mux(stream.encode(frame))
    container.mux(stream.encode())


class Pipe:
    """A file that cannot be gone back in."""

    def __init__(self, file, path):
        self.write, self.name = file.write, str(path)


FRAGMENTS = {"movflags": "frag_keyframe+empty_moov+default_base_moof"}
CONTAINERS = {
    "mkv": ("a.mkv", "libx264", {}),
    "mkv ffv1": ("a.mkv", "ffv1", {}),
    "mkv mpeg4": ("a.mkv", "mpeg4", {}),
    "mkv sound": ("a.mkv", "libx264", {"sound": 3}),
    "mkv live": ("a.mkv", "libx264", {"live": True}),
    "mkv index first": ("a.mkv", "mpeg4", {"options": {"cues_to_front": "1"}}),
    "webm": ("a.webm", "libvpx", {}),
    "webm live": ("a.webm", "libvpx", {"options": {"live": "1"}, "live": True}),
    "flv": ("a.flv", "flv", {}),
    "flv h264": ("a.flv", "libx264", {}),
    "flv live": ("a.flv", "flv", {"live": True}),
    "ts": ("a.ts", "libx264", {}),
    "ts mpeg2": ("a.ts", "mpeg2video", {"sound": 3}),
    "ts constant rate": ("a.ts", "libx264", {"options": {"muxrate": "900k"}}),
    "m2ts": ("a.m2ts", "libx264", {}),
    "mpg": ("a.mpg", "mpeg1video", {}),
    "mpg sound": ("a.mpg", "mpeg2video", {"sound": 3}),
    "vob": ("a.vob", "mpeg2video", {}),
    "mp4": ("a.mp4", "libx264", {"sound": 3}),
    "mp4 index first": ("a.mp4", "mpeg4", {"options": {"movflags": "faststart"}}),
    "mp4 fragments": ("a.mp4", "libx264", {"options": FRAGMENTS}),
    "mp4 live": ("a.mp4", "libx264", {"options": FRAGMENTS, "live": True}),
    "mov": ("a.mov", "mpeg4", {}),
    "avi": ("a.avi", "mpeg4", {}),
    "avi sound": ("a.avi", "mpeg4", {"sound": 3}),
    "ogg": ("a.ogg", "libvpx", {}),
    "wmv": ("a.wmv", "wmv2", {}),
    "wmv live": ("a.wmv", "wmv2", {"live": True}),
    "mxf": ("a.mxf", "mpeg2video", {}),
    "gif": ("a.gif", "gif", {}),
    "ivf": ("a.ivf", "libvpx", {}),
    "y4m": ("a.y4m", "rawvideo", {}),
}
containers = pytest.mark.parametrize(
    "name, codec, how", CONTAINERS.values(), ids=CONTAINERS
)


@containers
@pytest.mark.parametrize("n", [1, 30])
def test_whole_files_are_read_whole(name, codec, how, n, tmp_path):
    """No false alarm: sound longer than the film, streams without an index."""
    file = mux(tmp_path / name, codec, **how, n=n)
    how = {"frames": 1, "size": (8, 8), "sampling": "windows"}
    assert len(read_clips([file], **how).data) == n
    if Path(name).suffix in (".mkv", ".webm", ".flv", ".mpg", ".mp4", ".avi", ".ogg"):
        with open(file, "ab") as more:
            more.write(b"\0" * 1000)
        assert len(read_clips([file], **how).data) == n


# A broadcast in ASF says nowhere how long it is.
@pytest.mark.parametrize(
    "name, codec, how",
    [each for key, each in CONTAINERS.items() if key != "wmv live"],
    ids=[key for key in CONTAINERS if key != "wmv live"],
)
def test_cut_files_are_not_shorter_clips(name, codec, how, tmp_path):
    """Odd sizes: transport streams consist of packets of 188 or 192 bytes."""
    file = mux(tmp_path / name, codec, **how)
    data = file.read_bytes()
    for share in (0.3, 0.5, 0.8, 0.9, 0.97):
        file.write_bytes(data[: int(share * len(data)) | 1])
        try:
            X = read_clips([file], 1, (8, 8), sampling="windows").data
        except ClipError:
            continue
        assert len(X) == 30, share  # the cut is behind the last frame


@pytest.mark.parametrize("name", ["mkv", "webm", "flv", "ts", "mpg", "mp4", "ogg"])
def test_one_byte_less_is_noticed(name, tmp_path):
    name, codec, how = CONTAINERS[name]
    file = mux(tmp_path / name, codec, **how)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(ClipError, match=r"cut off|cannot be decoded"):
        read_clips([file], 1, (8, 8))


# Depth ------------------------------------------------------------------------------


@pytest.mark.parametrize("color", ["gray", "rgb"])
def test_deep_video_keeps_its_depth(color, tmp_path):
    """Levels that 8 bits cannot tell apart."""
    shape = (3, 8, 8) if color == "gray" else (3, 8, 8, 3)
    clip = np.random.default_rng(0).integers(0, 2**16, shape, dtype=np.uint16)
    pixels = "gray16le" if color == "gray" else "rgb48le"
    with av.open(str(tmp_path / "a.mkv"), "w") as container:
        stream = container.add_stream("ffv1", rate=25)
        stream.width, stream.height = 8, 8
        stream.pix_fmt = "gray16le" if color == "gray" else "gbrp16le"
        for image in clip:
            frame = av.VideoFrame.from_ndarray(image, format=pixels)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    how = {"frames": 3, "size": (8, 8), "color": color}
    X = read_clips([tmp_path / "a.mkv"], **how).data[0]
    np.testing.assert_allclose(X * 65535, clip, atol=1.01)
    levels = read_clips([tmp_path / "a.mkv"], **how, dtype="uint8").data[0]
    assert np.abs(levels - clip / 257).max() <= 2  # FFmpeg rounds on the way


def test_ten_bits_have_the_range_of_eight(tmp_path):
    """Limited range is stretched alike: black is 0 and white is 1."""
    clip = film(4, 16, 16)
    found = []
    for pixels in ("yuv420p", "yuv420p10le"):
        path = tmp_path / f"{pixels}.mkv"
        with av.open(str(path), "w") as container:
            stream = container.add_stream("ffv1", rate=25)
            stream.width, stream.height, stream.pix_fmt = 16, 16, pixels
            for image in clip:
                frame = av.VideoFrame.from_ndarray(image, format="gray")
                container.mux(stream.encode(frame))
            container.mux(stream.encode())
        found.append(read_clips([path], 4, (16, 16)).data[0])
    for X in found:
        np.testing.assert_allclose(X, clip / 255, atol=1.6 / 255)


# Memory -----------------------------------------------------------------------------

MEASURE = """
import re, sys
from pathlib import Path
from tensorcrp.video import read_clips

def peak(folder):
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    clips = read_clips(folder, 16, (32, 32), color="rgb", progress=False)
    status = Path("/proc/self/status").read_text()
    most = 1024 * int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
    return len(clips.data), clips.data.nbytes, most

few, many = (peak(folder) for folder in sys.argv[1:])
print(*(b - a for a, b in zip(few, many)))
"""


@pytest.mark.slow
def test_the_peak_grows_with_the_result_not_with_what_is_decoded(tmp_path):
    """A hundred more clips: their result, and less than five of them decoded."""
    shape = (16, 144, 192, 3)
    one = write_clip(tmp_path / "one.mp4", film(*shape[:3], color=True))
    for folder, count in (("few", 10), ("many", 60)):
        for name in ("a", "b"):
            (tmp_path / folder / name).mkdir(parents=True)
            for i in range(count):
                os.link(one, tmp_path / folder / name / f"{i}.mp4")
    command = [sys.executable, "-c", MEASURE, tmp_path / "few", tmp_path / "many"]
    # Freed memory goes back to the system at once: what is measured is what is used.
    env = os.environ | {"MALLOC_ARENA_MAX": "1", "MALLOC_TRIM_THRESHOLD_": "0"}
    out = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    n, result, extra = map(int, out.stdout.split())
    assert n == 100 and result == 100 * 16 * 32 * 32 * 3 * 4
    assert extra <= result + 5 * np.prod(shape), (extra / 2**20, result / 2**20)


# Motion -----------------------------------------------------------------------------


@pytest.mark.slow
def test_motion_classes_from_mp4_files(tmp_path):
    """Order-3 CRP + 1-NN against 1-NN on pixels, ridge LDA and single frames."""

    def score(A, a, B, b):
        model = KNeighborsClassifier(1).fit(A.reshape(len(A), -1), a)
        return model.score(B.reshape(len(B), -1), b)

    def projected(crp, A, a, B, b):
        crp.fit(A, a)
        return score(crp.transform(A), a, crp.transform(B), b)

    scores = []
    for seed in range(3):
        make_moving_shapes(15, random_state=seed, folder=tmp_path / str(seed))
        X, y, _ = read_clips(tmp_path / str(seed))
        train = np.concatenate([np.flatnonzero(y == c)[:5] for c in range(4)])
        test = np.setdiff1d(np.arange(len(y)), train)
        split = X[train], y[train], X[test], y[test]
        frames = [
            score(split[0][:, t], y[train], split[2][:, t], y[test]) for t in range(16)
        ]
        scores.append(
            [
                projected(TensorCRP(12, rank=2, reg=0.001), *split),
                score(*split),
                projected(RidgeLDA(reg=0.3), *split),
                np.mean(frames),
            ]
        )
    crp, pixels, ridge, frame = np.mean(scores, axis=0)
    assert crp > 0.85
    assert crp > max(pixels, ridge) + 0.3
    assert frame < 0.4  # four classes: chance is 0.25
