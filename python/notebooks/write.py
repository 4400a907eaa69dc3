"""Writes the notebooks of this folder from their cells, and runs them: `python notebooks/write.py [NAME …]`.

Needs nbformat, nbclient, ipykernel and matplotlib; `robust_cnn` needs PyTorch.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

HERE = Path(__file__).parent


def cells(source: str) -> list[nbformat.NotebookNode]:
    """A file of cells that begin with `# %%`, those of text with `# %% [markdown]`."""
    made = []
    for part in re.split(r"^# %%", source, flags=re.M)[1:]:
        head, _, body = part.partition("\n")
        if "[markdown]" in head:
            text = "\n".join(line.removeprefix("#").removeprefix(" ") for line in body.strip().splitlines())
            made.append(nbformat.v4.new_markdown_cell(text))
        else:
            made.append(nbformat.v4.new_code_cell(body.strip()))
    for at, cell in enumerate(made):
        cell["id"] = f"cell-{at}"
    return made


def run(file: Path) -> nbformat.NotebookNode:
    """The notebook of a file, with its outputs."""
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = nbformat.v4.new_notebook(cells=cells(file.read_text()), metadata=kernel)
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(HERE)}}).execute()
    for cell in notebook.cells:
        cell["metadata"] = {}
    return notebook


if __name__ == "__main__":
    for file in sorted(HERE.glob("*.py")):
        if file.name != Path(__file__).name and file.stem in (sys.argv[1:] or [file.stem]):
            nbformat.write(run(file), file.with_suffix(".ipynb"))
            print(file.with_suffix(".ipynb"))
