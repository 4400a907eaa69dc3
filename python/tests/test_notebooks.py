"""The notebooks run from the first cell to the last, and are kept with their outputs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"
NAMES = ("fair_lending", "frontier", "robust_cnn")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_with_its_outputs(name: str) -> None:
    kept = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text())
    code = [cell for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert len(code) >= 5 and sum(bool(cell["outputs"]) for cell in code) >= 4
    assert not any(output["output_type"] == "error" for cell in code for output in cell["outputs"])


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for needed in ("nbclient", "nbformat", "ipykernel", "matplotlib"):
        pytest.importorskip(needed)
    if name == "robust_cnn":
        pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(NOTEBOOKS))
    from importlib import import_module

    sys.modules.pop("write", None)
    notebook = import_module("write").run(NOTEBOOKS / f"{name}.py")
    source = json.loads((NOTEBOOKS / f"{name}.ipynb").read_text())
    assert [cell["source"] for cell in notebook.cells] == ["".join(cell["source"]) for cell in source["cells"]]
