"""openpi's resize_with_pad with Pillow itself.

Reads, any number of times, a line `[w, h, W, H]` and the raw RGB of a w x h picture; writes the raw RGB of W x H.
"""

import json
import sys

import PIL
from PIL import Image

# The order of the passes that is wanted is horizontal first. Pillow 13 reverses it by the rule below; a call per pass
# brings it back. All other pictures take a single call.
REORDERS = int(PIL.__version__.split(".")[0]) >= 13


def resize(image, width, height):
    if REORDERS and image.height - height > max(0, 2 * (image.width - width)):
        image = image.resize((width, image.height), Image.BILINEAR)
    return image.resize((width, height), Image.BILINEAR)


def resize_with_pad(image, width, height):
    if image.size == (width, height):
        return image
    ratio = max(image.width / width, image.height / height)
    new = int(image.width / ratio), int(image.height / ratio)
    out = Image.new("RGB", (width, height), 0)
    out.paste(resize(image, *new), ((width - new[0]) // 2, (height - new[1]) // 2))
    return out


for line in iter(sys.stdin.buffer.readline, b""):
    w, h, W, H = json.loads(line)
    picture = Image.frombytes("RGB", (w, h), sys.stdin.buffer.read(w * h * 3))
    sys.stdout.buffer.write(resize_with_pad(picture, W, H).tobytes())
