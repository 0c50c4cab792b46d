"""Raw camera layouts to RGB with numpy, written from their definitions and not from our code.

Reads, any number of times, a line `[encoding, width, height, step]` and step x height bytes; writes raw RGB.
"""

import json
import sys

import numpy as np

TILES = {"rggb": "RGGB", "bggr": "BGGR", "gbrg": "GBRG", "grbg": "GRBG"}
ORDERS = {"rgb8": "RGB", "bgr8": "BGR", "rgba8": "RGBA", "bgra8": "BGRA", "mono8": "Y"}


def packed(rows, order):
    pixels = rows.reshape(rows.shape[0], -1, len(order))
    return np.stack([pixels[..., order.find(c) if c in order else 0] for c in "RGB"], axis=-1)


def yuv(rows, order):
    groups = rows.reshape(rows.shape[0], -1, 4).astype(np.float64)
    luma = np.stack([groups[..., i] for i, c in enumerate(order) if c == "Y"], axis=-1)
    y = luma.reshape(rows.shape[0], -1) - 16
    u = np.repeat(groups[..., order.index("U")], 2, axis=1) - 128
    v = np.repeat(groups[..., order.index("V")], 2, axis=1) - 128
    # BT.601, video range, the rounded coefficients of the books.
    rgb = np.stack([1.164 * y + 1.596 * v, 1.164 * y - 0.392 * u - 0.813 * v, 1.164 * y + 2.017 * u], axis=-1)
    return np.clip(np.rint(rgb), 0, 255).astype(np.uint8)


def bayer(rows, tile):
    """Each colour: samples of that colour, weighted 1-2-1 in both directions, over the weights that are there."""
    height, width = rows.shape
    out = np.empty((height, width, 3), np.uint8)
    for channel, colour in enumerate("RGB"):
        mask = np.zeros((height, width))
        for i, c in enumerate(tile):
            if c == colour:
                mask[i // 2 :: 2, i % 2 :: 2] = 1
        samples = np.pad(rows * mask, 1, mode="reflect")
        weights = np.pad(mask, 1, mode="reflect")
        kernel = [[0, 1, 0], [1, 4, 1], [0, 1, 0]] if colour == "G" else [[1, 2, 1], [2, 4, 2], [1, 2, 1]]
        total = sum(kernel[y][x] * samples[y : y + height, x : x + width] for y in range(3) for x in range(3))
        weight = sum(kernel[y][x] * weights[y : y + height, x : x + width] for y in range(3) for x in range(3))
        mean = np.floor(total / weight + 0.5)
        out[..., channel] = np.where(mask == 1, rows, mean)
    return out


def to_rgb(encoding, rows, width):
    if encoding in ORDERS:
        order = ORDERS[encoding]
        return packed(rows[:, : width * len(order)], order)
    if encoding.startswith("bayer_"):
        return bayer(rows[:, :width], TILES[encoding[6:10]])
    return yuv(rows[:, : width * 2], "YUYV" if encoding in ("yuyv", "yuv422_yuy2") else "UYVY")


for line in iter(sys.stdin.buffer.readline, b""):
    encoding, width, height, step = json.loads(line)
    rows = np.frombuffer(sys.stdin.buffer.read(step * height), np.uint8).reshape(height, step)
    sys.stdout.buffer.write(to_rgb(encoding, rows, width).tobytes())
