"""What a training, a certificate and a page come to."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, overload

import numpy as np

__all__ = ["Certificate", "Finding", "Judgement", "Report", "RequirementRow", "RequirementsTable"]


@dataclass(frozen=True)
class RequirementRow:
    """How one requirement stands, groups written out."""

    name: str
    sense: str
    limit: float
    #: On the rows it was trained on.
    value: float | None
    met: bool
    #: μ, or the mean of λ over the rows.
    multiplier: float | None
    #: The share of rows over the limit, of a requirement for every row.
    violated: float | None
    #: On the validation rows, where there are any.
    validation_value: float | None
    validation_met: bool | None


class RequirementsTable(Sequence[RequirementRow]):
    """The requirements of a model, one row each: limit, value, whether it is met, multiplier."""

    def __init__(self, rows: list[RequirementRow]) -> None:
        self._rows = rows

    @property
    def met(self) -> bool:
        """Whether all are met on the rows that were trained on, and on the validation rows."""
        return all(row.met and row.validation_met is not False for row in self._rows)

    def to_pandas(self) -> Any:
        """The same as a pandas frame, indexed by name."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self._rows]).set_index("name")

    @overload
    def __getitem__(self, at: int) -> RequirementRow: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[RequirementRow]: ...
    def __getitem__(self, at: int | slice) -> RequirementRow | Sequence[RequirementRow]:
        return self._rows[at]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[RequirementRow]:
        return iter(self._rows)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RequirementsTable) and self._rows == other._rows

    def _cells(self) -> list[list[str]]:
        validated = any(row.validation_met is not None for row in self._rows)
        head = ["requirement", "limit", "value", "met", "multiplier"]
        cells = [head + (["validation", "met"] if validated else [])]
        for row in self._rows:
            sign = "≤" if row.sense == "<=" else "≥"
            line = [row.name, f"{sign} {row.limit:.4g}", _short(row.value), _yes(row.met), _short(row.multiplier)]
            cells.append(line + ([_short(row.validation_value), _yes(row.validation_met)] if validated else []))
        return cells

    def __repr__(self) -> str:
        if not self._rows:
            return "no requirements"
        return grid(self._cells())

    def _repr_html_(self) -> str:
        return html_table(self._cells())


@dataclass(frozen=True)
class Finding:
    """What held-out rows say of one requirement."""

    name: str
    #: ``certified``, ``met``, ``violated`` or ``open``.
    verdict: str
    #: In the words of the program.
    details: dict[str, Any]


class Certificate:
    """What held-out rows prove about each requirement on the population that they are drawn from."""

    def __init__(self, content: dict[str, Any], text: str, certified: bool) -> None:
        self._content, self._text = content, text
        #: Whether all requirements are certified, as one claim.
        self.certified = certified
        #: 1 − δ, of all requirements together.
        self.confidence: float = content["confidence"]
        #: How many rows were judged.
        self.rows: int = content["count"]

    @property
    def findings(self) -> list[Finding]:
        """The verdict about each requirement."""
        found = self._content["certificate"]["findings"]
        return [Finding(one["name"], str(one["verdict"]).lower(), one) for one in found]

    def to_dict(self) -> dict[str, Any]:
        """All of it, as ``certify --json`` has it."""
        return self._content

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


def certify_settings(*, base_rate: float | tuple[float, float] | None, **asked: Any) -> str:
    """What is asked of a certificate, as the engine reads it; one base rate is a range of it alone."""
    if base_rate is not None:
        asked["base_rate"] = np.broadcast_to(np.asarray(base_rate, dtype=np.float64), 2).tolist()
    return json.dumps({key: value for key, value in asked.items() if value is not None})


class Judgement:
    """How any predictor does: its requirements on the rows given, and what these certify."""

    def __init__(self, content: dict[str, Any], certificate: Certificate | None, page: str | None = None) -> None:
        self._content = content
        self._page = page
        evaluation = content["evaluation"]
        #: The requirements: limit, value, met.
        self.requirements = requirements_table(evaluation, None)
        #: Whether all are met on these rows; one for which no row counts is not known to be.
        self.met: bool = evaluation["met"] and all(one["points"] > 0 for one in evaluation["requirements"])
        #: The share of right predictions, of classes.
        self.accuracy: float | None = evaluation.get("accuracy")
        #: What the rows certify, if the predictor has not seen them.
        self.certificate = certificate
        #: Why nothing is certified, if so.
        self.no_certificate: str | None = content.get("no_certificate")

    @property
    def report(self) -> Report:
        """The page."""
        if self._page is None:
            raise AttributeError("an audit of a model of this package has no page of its own: its run has, report_")
        return Report(self._page, None, repr(self))

    def to_dict(self) -> dict[str, Any]:
        """All of it."""
        return self._content

    def __repr__(self) -> str:
        said = str(self.certificate) if self.certificate else f"Nothing is certified: {self.no_certificate}"
        return f"{self.requirements!r}\n{said}"

    def _repr_html_(self) -> str:
        return f"{self.requirements._repr_html_()}<pre>{html.escape(str(self.certificate or self.no_certificate))}</pre>"


class Report:
    """The page of a run: shown in a notebook, saved as one HTML file that needs nothing else."""

    def __init__(self, page: str, card: str | None, text: str) -> None:
        #: The page.
        self.html = page
        #: The model card, in Markdown.
        self.card = card
        self._text = text

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the page; gives its path."""
        file = Path(path)
        file.write_text(self.html, encoding="utf-8")
        return file

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" style="width: 100%; height: 40em; border: 1px solid #ccc" '
            'title="The run on one page"></iframe>'
        )


def requirements_table(train: dict[str, Any], validation: dict[str, Any] | None) -> RequirementsTable:
    """The table of an evaluation, and of that on validation rows."""
    later = {one["name"]: one for one in (validation or {}).get("requirements", [])}
    rows = []
    for one in train["requirements"]:
        held = later.get(one["name"])
        rows.append(
            RequirementRow(
                name=one["name"],
                sense=one["sense"],
                limit=one["limit"],
                value=one["value"],
                met=one["met"],
                multiplier=one["multiplier"],
                violated=one["violated"] if one["kind"] == "pointwise" else None,
                validation_value=held["value"] if held else None,
                validation_met=held["met"] if held else None,
            )
        )
    return RequirementsTable(rows)


def grid(cells: list[list[str]]) -> str:
    """Aligned columns, two spaces apart."""
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]

    def line(row: list[str]) -> str:
        first = row[0].ljust(widths[0])
        return "  ".join([first, *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))]).rstrip()

    return "\n".join(line(row) for row in cells)


def html_table(cells: list[list[str]]) -> str:
    """The same as HTML."""
    head, *rows = cells
    th = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{th}</tr></thead><tbody>{body}</tbody></table>"


def _short(x: float | None) -> str:
    return "" if x is None else f"{x:.4g}"


def _yes(met: bool | None) -> str:
    return "" if met is None else ("yes" if met else "NO")
