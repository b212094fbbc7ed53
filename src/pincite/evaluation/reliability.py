"""The reliability plot of a calibration: an SVG that needs nothing else, alone or in a page of HTML."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

from pincite.evaluation.calibrating import Measured

__all__ = ["reliability_page", "reliability_svg"]

_SIDE, _LEFT, _BOTTOM, _TOP = 320, 48, 44, 30
_STYLE = (
    "text{font:12px system-ui,sans-serif;fill:#1b1f24}.axis{stroke:#5a636e;fill:none}.grid{stroke:#d4d9df}"
    ".even{stroke:#5a636e;stroke-dasharray:4 4}.line{stroke:#0b63c5;fill:none;stroke-width:2}.dot{fill:#0b63c5}"
)


def reliability_svg(measured: Measured, title: str) -> str:
    """Share of questions that could be answered over the mean probability of each bin; the diagonal is perfect."""

    def x(value: float) -> float:
        return round(_LEFT + value * _SIDE, 1)

    def y(value: float) -> float:
        return round(_TOP + (1 - value) * _SIDE, 1)

    parts = [f'<text x="{_LEFT}" y="18">{escape(title)}</text>']
    for tenth in range(0, 11, 2):
        value = tenth / 10
        parts.append(f'<path class="grid" d="M{x(0)} {y(value)}H{x(1)}M{x(value)} {y(0)}V{y(1)}"/>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(value) + 4}" text-anchor="end">{value:.1f}</text>')
        parts.append(f'<text x="{x(value)}" y="{y(0) + 16}" text-anchor="middle">{value:.1f}</text>')
    parts.append(f'<path class="axis" d="M{x(0)} {y(1)}V{y(0)}H{x(1)}"/>')
    parts.append(f'<path class="even" d="M{x(0)} {y(0)}L{x(1)} {y(1)}"/>')
    points = " ".join(f"{x(each.mean)},{y(each.share)}" for each in measured.bins)
    parts.append(f'<polyline class="line" points="{points}"/>')
    for each in measured.bins:
        told = f"{each.size} questions: probability {each.mean:.3f}, answerable {each.share:.3f}"
        parts.append(
            f'<circle class="dot" cx="{x(each.mean)}" cy="{y(each.share)}" r="4"><title>{escape(told)}</title></circle>'
        )
    name = "mean probability of a bin (cross-validated)"
    parts.append(f'<text x="{x(0.5)}" y="{y(0) + 36}" text-anchor="middle">{name}</text>')
    parts.append(
        f'<text transform="translate(14 {y(0.5)}) rotate(-90)" text-anchor="middle">share that could be answered</text>'
    )
    width, height = _LEFT + _SIDE + 16, _TOP + _SIDE + _BOTTOM
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" aria-label="{escape(title)}"><style>{_STYLE}</style>'
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>{"".join(parts)}</svg>'
    )


def reliability_page(plots: Mapping[str, Measured], title: str, about: list[str]) -> str:
    """A page with a plot for each name, and lines of plain text on how they were made."""
    body = [f"<h1>{escape(title)}</h1>", *(f"<p><code>{escape(line)}</code></p>" for line in about)]
    body += [f"<figure>{reliability_svg(measured, name)}</figure>" for name, measured in plots.items()]
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{escape(title)}</title>\n'
        "<style>body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}"
        "figure{margin:1rem 0}</style>\n</head>\n<body>\n" + "\n".join(body) + "\n</body>\n</html>\n"
    )
