#!/usr/bin/env python3
"""Outlines of the letters that figures are labelled with, for the PNG files.

    python3 make.py DejaVuSans.ttf glyphs.bin

Reads a TrueType font and writes, little endian: the number of glyphs (u16), then for each, by code
point: the code point (u32), the advance (u16), the number of contours (u8), and for each contour the
number of points (u8) and the points, x and y (i16 each), where x is doubled and its lowest bit says
whether the point is on the curve. Units are 1/512 of the letters' size; y points up.
"""
import struct
import sys

UNITS = 512
RANGES = [
    (0x20, 0x7E), (0xA0, 0x17F), (0x391, 0x3C9), (0x410, 0x44F),
    (0x2013, 0x2014), (0x2018, 0x2019), (0x201C, 0x201D), (0x2026, 0x2026), (0x2016, 0x2016),
    (0x2070, 0x2070), (0x2074, 0x207B), (0x2080, 0x2089), (0x2190, 0x2194), (0x2202, 0x2202),
    (0x2208, 0x2208), (0x2211, 0x2213), (0x221A, 0x221A), (0x221E, 0x221E), (0x2248, 0x2248),
    (0x2260, 0x2260), (0x2264, 0x2265), (0x2713, 0x2713), (0x2717, 0x2717), (0xFFFD, 0xFFFD),
]


def main(font, out):
    data = open(font, "rb").read()
    tables = {}
    for i in range(struct.unpack(">H", data[4:6])[0]):
        tag, _, offset, length = struct.unpack(">4sIII", data[12 + 16 * i:28 + 16 * i])
        tables[tag.decode()] = data[offset:offset + length]
    head, cmap, glyf = tables["head"], tables["cmap"], tables["glyf"]
    per_em = struct.unpack(">H", head[18:20])[0]
    long_loca = struct.unpack(">h", head[50:52])[0]
    count = struct.unpack(">H", tables["maxp"][4:6])[0]
    if long_loca:
        loca = struct.unpack(f">{count + 1}I", tables["loca"][:4 * (count + 1)])
    else:
        loca = [2 * x for x in struct.unpack(f">{count + 1}H", tables["loca"][:2 * (count + 1)])]
    metrics = struct.unpack(">H", tables["hhea"][34:36])[0]

    def advance(glyph):
        at = 4 * min(glyph, metrics - 1)
        return struct.unpack(">H", tables["hmtx"][at:at + 2])[0]

    codes = {}
    for i in range(struct.unpack(">H", cmap[2:4])[0]):
        platform, _, offset = struct.unpack(">HHI", cmap[4 + 8 * i:12 + 8 * i])
        sub = cmap[offset:]
        if struct.unpack(">H", sub[:2])[0] == 12 and platform in (0, 3):
            for k in range(struct.unpack(">I", sub[12:16])[0]):
                first, last, start = struct.unpack(">III", sub[16 + 12 * k:28 + 12 * k])
                for code in range(first, last + 1):
                    codes[code] = start + code - first

    def outline(glyph):
        g = glyf[loca[glyph]:loca[glyph + 1]]
        if not g:
            return []
        contours = struct.unpack(">h", g[:2])[0]
        if contours < 0:
            parts, at = [], 10
            while True:
                flags, part = struct.unpack(">HH", g[at:at + 4])
                at += 4
                form = ">hh" if flags & 1 else ">bb"
                dx, dy = struct.unpack(form, g[at:at + (4 if flags & 1 else 2)])
                at += 4 if flags & 1 else 2
                m = [1.0, 0.0, 0.0, 1.0]
                f2 = lambda k: struct.unpack(">h", g[at + 2 * k:at + 2 * k + 2])[0] / 16384
                if flags & 8:
                    m = [f2(0), 0, 0, f2(0)]
                    at += 2
                elif flags & 0x40:
                    m = [f2(0), 0, 0, f2(1)]
                    at += 4
                elif flags & 0x80:
                    m = [f2(0), f2(1), f2(2), f2(3)]
                    at += 8
                for contour in outline(part):
                    parts.append([(m[0] * x + m[2] * y + dx, m[1] * x + m[3] * y + dy, on)
                                  for x, y, on in contour])
                if not flags & 0x20:
                    return parts
        ends = struct.unpack(f">{contours}H", g[10:10 + 2 * contours])
        at = 10 + 2 * contours
        at += 2 + struct.unpack(">H", g[at:at + 2])[0]
        flags = []
        while len(flags) <= ends[-1]:
            f = g[at]
            at += 1
            flags.append(f)
            if f & 8:
                flags += [f] * g[at]
                at += 1

        def coordinates(short, same):
            nonlocal at
            value, values = 0, []
            for f in flags:
                if f & short:
                    value += g[at] if f & same else -g[at]
                    at += 1
                elif not f & same:
                    value += struct.unpack(">h", g[at:at + 2])[0]
                    at += 2
                values.append(value)
            return values

        xs, ys = coordinates(2, 16), coordinates(4, 32)
        points = [(x, y, f & 1) for x, y, f in zip(xs, ys, flags)]
        starts = [0] + [e + 1 for e in ends[:-1]]
        return [points[s:e + 1] for s, e in zip(starts, ends)]

    scale = lambda x: round(x * UNITS / per_em)
    glyphs = []
    for first, last in RANGES:
        for code in range(first, last + 1):
            if code not in codes:
                continue
            body = struct.pack("<IH", code, scale(advance(codes[code])))
            contours = outline(codes[code])
            body += struct.pack("<B", len(contours))
            for contour in contours:
                body += struct.pack("<B", len(contour))
                for x, y, on in contour:
                    body += struct.pack("<hh", 2 * scale(x) + (1 if on else 0), scale(y))
            glyphs.append((code, body))
    glyphs.sort()
    with open(out, "wb") as file:
        file.write(struct.pack("<H", len(glyphs)) + b"".join(body for _, body in glyphs))
    print(len(glyphs), "glyphs")


main(*sys.argv[1:])
