"""How things look: colours, markers and line styles as data, and one colour map.

In: the number of a series. Out: keywords of matplotlib's artists. Whatever differs by
colour differs by marker, line style or hatch too, so that it survives a gray printer.
"""

# Okabe and Ito's colours, dark to light, yellow left out: too pale for lines.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
FILLS = (*COLOURS, "#F0E442", "#999999", "#FFFFFF")  # of points with a black edge
MARKERS = "osD^vPX*"
LINES = ("-", "--", ":", "-.")
OUR_COLOUR, OTHERS = COLOURS[6], "#D9D9D9"  # bars; ours are hatched as well

# Ends and middle of weights: dark blue is negative, gray is zero, pale yellow positive.
# From end to end it only gets lighter, so that the sign survives without colour; red to
# blue through white, the usual choice, prints both signs alike.
WEIGHTS = ("#08306B", "#3B6DB3", "#9B9B9B", "#EDAF4C", "#FFF4B8")


def series(i):
    """Colour, marker and line style of line number `i`: 56 of them differ."""
    return {
        "color": COLOURS[i % len(COLOURS)],
        "marker": MARKERS[i % len(MARKERS)],
        "linestyle": LINES[i % len(LINES)],
        "linewidth": 1.4,
        "markersize": 5,
    }


def cloud(i):
    """Colour and marker of the points of class number `i`: 40 of them differ."""
    return {
        "marker": MARKERS[i % len(MARKERS)],
        "facecolors": FILLS[i % len(FILLS)],
        "edgecolors": "black",
        "linewidths": 0.4,
    }


def weight_colours():
    """The colour map of weights, to be centred at zero."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("tensorcrp_weights", WEIGHTS)
