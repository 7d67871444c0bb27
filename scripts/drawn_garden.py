"""Two short articles with pictures that are drawn here: what the screenshots of the guides show.

python scripts/drawn_garden.py FOLDER
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from PIL import Image, ImageDraw

WIDTH, HEIGHT, SCALE = 720, 480, 3
Point = tuple[float, float]

GARDEN = """# Soup from four square metres

*A small garden, one summer, and what came out of it.*

## Spring on the window sill

In March it is too cold outside for anything that likes the sun. The seeds go into small clay pots on the window sill
instead, two to a pot, no deeper than a fingernail.

![](seedlings.png)

After ten days the first green loops break the soil. Turn the pots a little each morning, or the seedlings all lean
towards the glass.

## Water

The bed lies behind the shed, where the hose does not reach. So every evening the watering can goes back and forth
between the rain barrel and the beans. It holds ten litres, and the bed wants four of them.

![A blue watering can pours over a bed](can.png)

I tried to skip a day in June. The lettuce forgave me, but the cucumbers did not.

## Helpers

Nobody had told me that a sunflower is a landing place. From seven in the morning the bees come and go, and each leaves
with yellow trousers.

![](bee.png "A bee on its way to the sunflower")

The snails come at night, and they are no help at all.

## Harvest

![](tomatoes.png)

By August the stakes bend under the weight. The tomatoes ripen from the bottom up, so every truss shows all the colours
at once: green at the tip, then orange, then red. Pick them when they come off with half a turn.

One afternoon gave four kilograms. That is too many for salad, and just right for soup.

## In the kitchen

Cut the tomatoes in halves and let them cook slowly with onions and a little salt. After forty minutes the large red pot
has steamed up every window of the kitchen.

![The soup simmers on the stove](pot.png)

![](table.png)

We ate outside, with the bread of the neighbours and two spoons for one bowl. It tasted of all the evenings on which I
had cursed the watering can.
"""

BREAD = """# Bread for the neighbours

The neighbours bake on Saturdays, and their recipe fits on the back of an envelope.

## The evening before

Flour, water, salt, and a spoon of the old dough. Stir it in the evening and leave the bowl under a cloth.

![A bowl of dough under a checked cloth](dough.png)

By midnight it has doubled, and by morning it tries to leave.

## In the oven

![](oven.png)

The oven has to be as hot as it will go, with a tray of water on the floor. For twenty minutes nobody may open the door.
Everybody looks through the glass.

## Out of it

Knock on the loaf from below: it sounds hollow when it is done. Then it has to cool on a rack, and this is the hard
part.

![](loaf.png "The loaf cools on its rack")
"""


class Sheet:
    """A picture to draw on, three times as large as it will be: so its edges become smooth."""

    def __init__(self, top: str, bottom: str, horizon: float) -> None:
        self.image = Image.new("RGB", (WIDTH * SCALE, HEIGHT * SCALE), top)
        self._draw = ImageDraw.Draw(self.image)
        self.box(0, horizon, WIDTH, HEIGHT, bottom)

    def box(self, x: float, y: float, right: float, bottom: float, colour: str, corner: float = 0) -> None:
        self._draw.rounded_rectangle([v * SCALE for v in (x, y, right, bottom)], corner * SCALE, colour)

    def disc(self, x: float, y: float, across: float, colour: str, down: float | None = None) -> None:
        rx, ry = across / 2, (across if down is None else down) / 2
        self._draw.ellipse([v * SCALE for v in (x - rx, y - ry, x + rx, y + ry)], colour)

    def shape(self, colour: str, *points: Point) -> None:
        self._draw.polygon([(x * SCALE, y * SCALE) for x, y in points], colour)

    def line(self, colour: str, width: float, *points: Point) -> None:
        at = [(x * SCALE, y * SCALE) for x, y in points]
        self._draw.line(at, colour, int(width * SCALE), "curve")
        for x, y in points:
            self.disc(x, y, width, colour)

    def leaf(self, x: float, y: float, angle: float, long: float, colour: str) -> None:
        """A leaf from its stalk, in degrees from the right and upwards."""
        turn = math.radians(angle)
        side = [(t / 20 * long, math.sin(t / 20 * math.pi) * long / 4) for t in range(21)]
        rim = side + [(u, -v) for u, v in reversed(side)]
        cos, sin = math.cos(turn), math.sin(turn)
        self.shape(colour, *((x + u * cos - v * sin, y - u * sin - v * cos) for u, v in rim))

    def steam(self, x: float, y: float, high: float, colour: str) -> None:
        self.line(colour, 7, *((x + 10 * math.sin(t / 5), y - high * t / 30) for t in range(31)))


def seedlings() -> Sheet:
    sheet = Sheet("#f3e3cd", "#b98a5e", 372)
    sheet.box(120, 30, 600, 340, "#ffffff", 8)
    sheet.box(138, 48, 352, 322, "#bfe0f2")
    sheet.box(368, 48, 582, 322, "#bfe0f2")
    sheet.disc(500, 120, 84, "#ffd769")
    for x, y in ((190, 110), (230, 98), (268, 112)):
        sheet.disc(x, y, 70, "#ffffff", 44)
    for x, high in ((210, 70), (360, 92), (510, 60)):
        sheet.line("#4d8b3c", 6, (x - 12, 300), (x - 16, 300 - high), (x - 12, 292 - high))
        sheet.line("#4d8b3c", 6, (x + 14, 300), (x + 18, 318 - high))
        for at, top, lean in ((x - 12, 292 - high, 12), (x + 18, 318 - high, -8)):
            sheet.leaf(at, top, 35 + lean, 46, "#6fb04f")
            sheet.leaf(at, top, 145 + lean, 46, "#86c463")
        sheet.disc(x, 302, 96, "#4a3426", 22)
        sheet.shape("#c8683f", (x - 50, 302), (x + 50, 302), (x + 38, 396), (x - 38, 396))
        sheet.box(x - 58, 296, x + 58, 320, "#d97d52", 5)
        sheet.box(x - 46, 392, x + 46, 404, "#a9532f", 5)
    return sheet


def can() -> Sheet:
    sheet = Sheet("#cfe8ee", "#7d5a3c", 350)
    sheet.box(0, 180, WIDTH, 352, "#9fcf8c")
    for x in range(0, WIDTH, 60):
        sheet.box(x + 8, 130, x + 44, 300, "#e9dcc2", 6)
        sheet.shape("#e9dcc2", (x + 8, 140), (x + 44, 140), (x + 26, 108))
    sheet.box(0, 160, WIDTH, 176, "#d8c7a4")
    sheet.box(0, 236, WIDTH, 252, "#d8c7a4")
    for n, x in enumerate(range(30, WIDTH, 76)):
        for angle in (40, 75, 105, 140):
            sheet.leaf(x, 384 + n % 2 * 30, angle, 62, ("#3f8a45", "#5aa657")[angle % 2])
    sheet.line("#2f6f9f", 20, (470, 190), (560, 130), (630, 150), (640, 230), (600, 280))
    sheet.shape("#3b86bd", (430, 170), (600, 190), (580, 320), (420, 300))
    sheet.line("#3b86bd", 24, (440, 280), (340, 190), (300, 170))
    sheet.shape("#2f6f9f", (322, 150), (290, 196), (264, 176), (296, 134))
    for n in range(9):
        for m in range(4):
            x, y = 270 - 9 * n - 10 * m + m * m, 196 + 17 * n + m * 9 - n * 2
            sheet.line("#5fa8d6", 4, (x, y), (x - 5, y + 12))
    return sheet


def bee() -> Sheet:
    sheet = Sheet("#d9eefb", "#a8d08d", 410)
    sheet.disc(610, 80, 90, "#fff1b8")
    sheet.line("#4d8b3c", 16, (250, 470), (262, 380), (250, 250))
    sheet.leaf(258, 400, 28, 130, "#5aa657")
    sheet.leaf(258, 430, 150, 130, "#6fb04f")
    for turn in range(0, 360, 18):
        sheet.leaf(250, 210, turn, 150, "#f2a91d")
    for turn in range(9, 360, 18):
        sheet.leaf(250, 210, turn, 138, "#ffc83d")
    sheet.disc(250, 210, 132, "#6b4423")
    for n in range(90):
        far, turn = 6.2 * math.sqrt(n), n * 2.39996
        sheet.disc(250 + far * math.cos(turn), 210 + far * math.sin(turn), 6, "#8f6238")
    for n in range(7):
        sheet.disc(432 + 12 * n, 186 - 22 * math.sin(n / 2) + 6 * n, 5, "#7c94a3")
    sheet.disc(566, 148, 70, "#ffffff", 96)
    sheet.disc(612, 152, 60, "#eef7fc", 88)
    sheet.disc(586, 220, 150, "#f6c32c", 92)
    for x, high in ((556, 84), (594, 90), (630, 74)):
        sheet.box(x - 9, 220 - high / 2, x + 9, 220 + high / 2, "#33281d", 8)
    sheet.disc(516, 214, 56, "#33281d")
    sheet.disc(506, 206, 10, "#ffffff")
    sheet.line("#33281d", 4, (506, 190), (486, 166))
    sheet.line("#33281d", 4, (522, 188), (512, 160))
    sheet.shape("#33281d", (660, 212), (684, 222), (658, 230))
    for x in (560, 590, 618):
        sheet.line("#33281d", 5, (x, 262), (x - 8, 286))
        sheet.disc(x - 9, 284, 16, "#ffd769")
    return sheet


def tomatoes() -> Sheet:
    sheet = Sheet("#dcefe2", "#8fbf7a", 440)
    for x in (170, 520):
        sheet.line("#a67b4b", 12, (x, 20), (x, 460))
        sheet.line("#4d8b3c", 10, *((x + 26 * math.sin(y / 40), y) for y in range(30, 461, 10)))
        for n, y in enumerate(range(60, 420, 62)):
            for angle in (20, -15) if n % 2 else (160, 195):
                sheet.leaf(x + 26 * math.sin(y / 40), y, angle, 110, ("#3f8a45", "#5aa657")[angle % 2])
    hanging = [
        (300, 150, 80, "#7fb24a"), (352, 196, 84, "#b9a53a"), (296, 244, 96, "#e8862e"), (360, 300, 106, "#df4a2c"),
        (280, 344, 116, "#d2301f"), (376, 398, 118, "#c92418"), (606, 220, 76, "#9db347"), (640, 286, 96, "#e2622b"),
        (594, 346, 108, "#d2301f"), (70, 250, 80, "#e8862e"), (96, 330, 100, "#d2301f"),
    ]  # fmt: skip
    sheet.line("#4d8b3c", 8, (200, 90), (300, 110), (336, 220), (326, 340), (340, 370))
    sheet.line("#4d8b3c", 8, (540, 160), (610, 180), (626, 320))
    sheet.line("#4d8b3c", 8, (150, 190), (90, 210), (86, 300))
    for x, y, across, colour in hanging:
        sheet.disc(x, y, across, colour, across * 0.9)
        sheet.disc(x - across * 0.2, y - across * 0.18, across * 0.2, "#ffe9dc", across * 0.12)
        for angle in (15, 60, 90, 120, 165):
            sheet.leaf(x, y - across * 0.42, angle - 90 if angle != 90 else 90, across * 0.3, "#3f7d36")
    return sheet


def pot() -> Sheet:
    sheet = Sheet("#f6ead6", "#d6cfc4", 380)
    for y in range(0, 280, 56):
        for x in range(-30, WIDTH, 92):
            sheet.box(x + (y // 56 % 2) * 46, y, x + (y // 56 % 2) * 46 + 86, y + 50, "#fbf4e6", 4)
    sheet.box(60, 372, 660, 480, "#4a4f55", 10)
    sheet.disc(360, 376, 330, "#2c2f33", 26)
    for x in (150, 290, 430, 570):
        sheet.disc(x, 436, 40, "#c9ccd0")
        sheet.line("#4a4f55", 5, (x, 436), (x + 9, 424))
    for x in (270, 340, 400, 462):
        sheet.steam(x, 150, 110, "#ffffff")
    sheet.line("#9c2417", 22, (196, 240), (150, 246), (150, 282), (196, 288))
    sheet.line("#9c2417", 22, (524, 240), (570, 246), (570, 282), (524, 288))
    sheet.box(192, 190, 528, 372, "#c8351f", 30)
    sheet.box(214, 216, 236, 346, "#dd5b43", 11)
    sheet.disc(360, 192, 340, "#9c2417", 66)
    sheet.disc(360, 194, 312, "#e8622f", 52)
    for x, y in ((290, 192), (342, 206), (410, 186), (448, 202)):
        sheet.disc(x, y, 26, "#f7934f", 12)
    sheet.leaf(366, 190, 20, 44, "#3f8a45")
    sheet.line("#a67b4b", 14, (430, 196), (560, 60))
    return sheet


def table() -> Sheet:
    sheet = Sheet("#cfe6c4", "#c99e6b", 210)
    for x in range(20, WIDTH, 110):
        sheet.disc(x, 120, 170, "#9ccb8a", 220)
    sheet.box(0, 210, WIDTH, 222, "#a87c4d")
    for y in range(262, HEIGHT, 54):
        sheet.box(0, y, WIDTH, y + 3, "#b58957")
    sheet.disc(300, 362, 320, "#b58957", 110)
    sheet.shape("#f5f1e8", (150, 300), (450, 300), (396, 396), (204, 396))
    sheet.disc(300, 396, 192, "#f5f1e8", 36)
    sheet.disc(300, 300, 304, "#ffffff", 90)
    sheet.disc(300, 304, 268, "#dc4f2a", 68)
    sheet.disc(270, 300, 70, "#f7e7cf", 18)
    sheet.leaf(300, 302, 30, 46, "#3f8a45")
    for x, turn in ((486, 0), (520, 18)):
        sheet.line("#8d969e", 9, (x, 300), (x + 24 + turn, 420))
        sheet.disc(x - 2, 286, 34, "#a9b2ba", 52)
    sheet.box(566, 300, 700, 380, "#b8763a", 36)
    sheet.disc(566, 340, 70, "#f3dfba", 80)
    sheet.disc(566, 340, 48, "#fbeed3", 58)
    for x in (610, 642, 672):
        sheet.line("#e5b777", 5, (x, 312), (x + 12, 336))
    sheet.steam(260, 262, 90, "#ffffff")
    sheet.steam(330, 262, 76, "#ffffff")
    return sheet


def dough() -> Sheet:
    sheet = Sheet("#dfe3ea", "#b98a5e", 320)
    sheet.disc(360, 420, 420, "#8f6640", 60)
    sheet.disc(360, 226, 330, "#f2e0bd", 150)
    sheet.shape("#5a7fa8", (170, 230), (550, 230), (480, 420), (240, 420))
    sheet.disc(360, 418, 240, "#5a7fa8", 40)
    sheet.disc(360, 232, 384, "#6f95bf", 60)
    sheet.disc(360, 214, 330, "#f2e0bd", 96)
    sheet.shape(
        "#fdfdfb", (150, 196), (380, 128), (590, 206), (566, 300), (470, 250), (360, 316), (250, 252), (160, 292)
    )
    for n in range(9):
        sheet.line("#cf5a4a", 5, (178 + 46 * n, 196 - 40 * math.sin(n / 2.6)), (176 + 46 * n, 262 + 16 * (-1) ** n))
    sheet.line("#cf5a4a", 5, (168, 236), (360, 180), (572, 240))
    return sheet


def oven() -> Sheet:
    sheet = Sheet("#efe6d8", "#a98f73", 440)
    sheet.box(110, 40, 610, 460, "#5b6168", 16)
    sheet.box(110, 40, 610, 110, "#747b83", 16)
    for x in (170, 230, 490, 550):
        sheet.disc(x, 76, 36, "#d9dde1")
        sheet.line("#5b6168", 4, (x, 76), (x, 62))
    sheet.box(300, 58, 420, 94, "#20262c", 5)
    sheet.box(316, 70, 404, 82, "#f09a3e", 3)
    sheet.box(150, 134, 570, 152, "#c4c9ce", 9)
    sheet.box(160, 176, 560, 420, "#33180b", 14)
    sheet.box(178, 194, 542, 402, "#a8480f", 10)
    sheet.box(178, 194, 542, 262, "#c9641a", 10)
    for y in (330, 386):
        sheet.box(178, y, 542, y + 6, "#4b2a17")
    for x, across in ((280, 150), (448, 130)):
        sheet.disc(x, 302, across, "#d99a4e", 74)
        sheet.box(x - across / 2, 304, x + across / 2, 332, "#c4803a", 12)
        for n in (-1, 0, 1):
            sheet.line("#f1c98a", 6, (x + n * 34 - 10, 292), (x + n * 34 + 8, 272))
    return sheet


def loaf() -> Sheet:
    sheet = Sheet("#e4ecee", "#cdbba2", 330)
    draw = Random(7)
    for x in range(140, 600, 32):
        sheet.line("#767d84", 5, (x, 372), (x - 14, 410))
    sheet.line("#8d949b", 8, (110, 372), (620, 372))
    sheet.line("#8d949b", 8, (96, 412), (606, 412))
    for x in (120, 600):
        sheet.line("#767d84", 8, (x, 372), (x, 440))
    sheet.disc(360, 260, 440, "#a9642b", 240)
    sheet.box(142, 262, 578, 370, "#9a5825", 60)
    sheet.disc(350, 236, 380, "#bf7a3a", 170)
    for n in range(5):
        sheet.line("#f0d3a2", 16, (216 + 72 * n, 260 - 14 * math.sin(n)), (252 + 72 * n, 176 + 8 * abs(n - 2)))
    for _ in range(150):
        x, y = draw.uniform(180, 540), draw.uniform(164, 300)
        sheet.disc(x, y, draw.uniform(2, 5), "#f5e6cb")
    sheet.steam(300, 130, 80, "#ffffff")
    sheet.steam(410, 134, 92, "#ffffff")
    return sheet


DRAWN: tuple[Callable[[], Sheet], ...] = (seedlings, can, bee, tomatoes, pot, table, dough, oven, loaf)


def write_garden(folder: Path) -> None:
    """Write ``soup.md`` with six pictures and ``bread.md`` with three into a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    for draw in DRAWN:
        image = draw().image.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)
        image.quantize(128, dither=Image.Dither.NONE).save(folder / f"{draw.__name__}.png", optimize=True)
    (folder / "soup.md").write_text(GARDEN, encoding="utf-8")
    (folder / "bread.md").write_text(BREAD, encoding="utf-8")


if __name__ == "__main__":
    write_garden(Path(sys.argv[1]))
