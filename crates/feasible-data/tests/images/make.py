"""Makes the images of this folder and expected.json: what Pillow decodes them to, C x H x W.

    pip install numpy pillow && python make.py

Twelve by ten pixels, so that nothing is square and JPEG blocks are cut; smooth, so that JPEG's
colour subsampling is gentle.
"""
import json
import pathlib
import numpy as np
from PIL import Image

here = pathlib.Path(__file__).parent
y, x = np.mgrid[0:10, 0:12]
grey = (20 * y + x).astype(np.uint8)
colour = np.stack([20 * y, 15 * x, 255 - 10 * (x + y)], -1).astype(np.uint8)

Image.fromarray(grey).save(here / "grey.png")
Image.fromarray(colour).save(here / "colour.png")
Image.fromarray((grey.astype(np.uint16) * 257)).save(here / "grey16.png")
Image.fromarray(colour).quantize(16).save(here / "palette.png")
Image.fromarray(np.dstack([colour, np.full((10, 12), 255, np.uint8)])).save(here / "opaque.png")
Image.fromarray(np.dstack([colour, grey])).save(here / "transparent.png")
Image.fromarray(grey).save(here / "grey.jpg", quality=95)
Image.fromarray(colour).save(here / "colour.jpg", quality=95, subsampling=0)
Image.fromarray(colour).save(here / "progressive.jpg", quality=95, progressive=True)

expected = {}
for name, mode in [("grey.png", "L"), ("colour.png", "RGB"), ("palette.png", "RGB"), ("opaque.png", "RGB"),
                   ("grey.jpg", "L"), ("colour.jpg", "RGB"), ("progressive.jpg", "RGB")]:
    pixels = np.asarray(Image.open(here / name).convert(mode))
    expected[name] = (pixels if pixels.ndim == 2 else pixels.transpose(2, 0, 1)).ravel().tolist()
expected["grey16.png"] = grey.ravel().tolist()
(here / "expected.json").write_text(json.dumps(expected) + "\n")
