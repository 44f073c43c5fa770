"""Draws logo.png: two scopes that overlap, each with memories of its own, and the knot they share.

    python scripts/make_logo.py

Standard library only, and nothing but + - * / and square roots, so that every machine gets the same
pixels. Edges are smooth because a pixel takes the share of a shape that its distance to the shape's
edge tells: a pixel wide, from inside to outside.
"""

import math
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SIZE = 256
CORNER = 56.0

type Point = tuple[float, float]
type Colour = tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Shape:
    """`cover(x, y)` is how much of the shape is at a point, 0 to 1; nothing above or below it."""

    cover: Callable[[float, float], float]
    top: float
    bottom: float


def disc(centre: Point, radius: float, strength: float = 1.0) -> Shape:
    """A filled circle."""
    return Shape(
        lambda x, y: strength * _edge(radius - _distance(x, y, centre)),
        *_around(centre, radius),
    )


def ring(centre: Point, radius: float, width: float) -> Shape:
    """A circle's line, `width` wide."""
    return Shape(
        lambda x, y: _edge(width / 2 - abs(_distance(x, y, centre) - radius)),
        *_around(centre, radius + width / 2),
    )


def glow(centre: Point, radius: float, strength: float) -> Shape:
    """Light that fades to nothing at `radius`."""

    def cover(x: float, y: float) -> float:
        inside = max(0.0, 1 - _distance(x, y, centre) / radius)
        return strength * inside * inside

    return Shape(cover, *_around(centre, radius))


def line(start: Point, end: Point, width: float, strength: float) -> Shape:
    """A line with round ends."""
    (ax, ay), (bx, by) = start, end
    length = (bx - ax) * (bx - ax) + (by - ay) * (by - ay)

    def cover(x: float, y: float) -> float:
        along = ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length
        along = min(1.0, max(0.0, along))
        nearest = (ax + along * (bx - ax), ay + along * (by - ay))
        return strength * _edge(width / 2 - _distance(x, y, nearest))

    return Shape(cover, min(ay, by) - width, max(ay, by) + width)


def _around(centre: Point, radius: float) -> tuple[float, float]:
    return centre[1] - radius - 1, centre[1] + radius + 1


def _distance(x: float, y: float, centre: Point) -> float:
    dx, dy = x - centre[0], y - centre[1]
    return math.sqrt(dx * dx + dy * dy)


def _edge(depth: float) -> float:
    return min(1.0, max(0.0, depth + 0.5))


NIGHT: Colour = (0.106, 0.118, 0.227)
DUSK: Colour = (0.263, 0.196, 0.447)
JADE: Colour = (0.353, 0.839, 0.722)
AMBER: Colour = (1.000, 0.714, 0.420)
PAPER: Colour = (1.000, 0.976, 0.929)

LEFT, RIGHT, RADIUS = (95.0, 114.0), (161.0, 114.0), 64.0
KNOT = (128.0, 114.0)
JADE_DOTS = ((60.0, 94.0), (70.0, 142.0))
AMBER_DOTS = ((196.0, 94.0), (186.0, 142.0))

# Over one another, the lowest first.
LAYERS: tuple[tuple[Shape, Colour], ...] = (
    (disc(LEFT, RADIUS, 0.30), JADE),
    (disc(RIGHT, RADIUS, 0.30), AMBER),
    *((line(dot, KNOT, 2.5, 0.6), JADE) for dot in JADE_DOTS),
    *((line(dot, KNOT, 2.5, 0.6), AMBER) for dot in AMBER_DOTS),
    (ring(LEFT, RADIUS, 7.0), JADE),
    (ring(RIGHT, RADIUS, 7.0), AMBER),
    *((disc(dot, 7.0), JADE) for dot in JADE_DOTS),
    *((disc(dot, 7.0), AMBER) for dot in AMBER_DOTS),
    (glow(KNOT, 36.0, 0.8), PAPER),
    (disc(KNOT, 11.5), PAPER),
    # A heading and a line under it: what is remembered is text.
    (line((90.0, 204.0), (166.0, 204.0), 7.0, 0.9), PAPER),
    (line((106.0, 221.0), (150.0, 221.0), 5.0, 0.5), PAPER),
)


def draw() -> bytes:
    """The logo as a PNG file, 256 x 256, RGBA."""
    return _png(b"".join(b"\0" + _row(y + 0.5) for y in range(SIZE)))


def _row(y: float) -> bytes:
    layers = [(shape.cover, paint) for shape, paint in LAYERS if shape.top <= y <= shape.bottom]
    row = bytearray()
    for column in range(SIZE):
        x = column + 0.5
        opacity = _rounded_square(x, y)
        red, green, blue = _mix(NIGHT, DUSK, (x + y) / (2 * SIZE))
        for cover, paint in layers:
            share = cover(x, y)
            if share:
                red, green, blue = _mix((red, green, blue), paint, share)
        pixel = (red, green, blue, opacity) if opacity else (0.0, 0.0, 0.0, 0.0)
        row.extend(int(value * 255 + 0.5) for value in pixel)
    return bytes(row)


def _rounded_square(x: float, y: float) -> float:
    dx = max(CORNER - x, x - (SIZE - CORNER), 0.0)
    dy = max(CORNER - y, y - (SIZE - CORNER), 0.0)
    return _edge(CORNER - math.sqrt(dx * dx + dy * dy))


def _mix(below: Colour, above: Colour, share: float) -> Colour:
    return (
        below[0] + (above[0] - below[0]) * share,
        below[1] + (above[1] - below[1]) * share,
        below[2] + (above[2] - below[2]) * share,
    )


def _png(scanlines: bytes) -> bytes:
    header = struct.pack(">IIBBBBB", SIZE, SIZE, 8, 6, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(scanlines, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(kind + data)
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)


if __name__ == "__main__":
    target = Path(__file__).resolve().parent.parent / "logo.png"
    target.write_bytes(draw())
    print(target.name)
