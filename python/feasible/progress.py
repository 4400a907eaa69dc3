"""Progress of a training: one line in a terminal, one that is replaced in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

#: Seconds between two lines.
_PAUSE = 0.1


def observer(
    verbose: bool, callback: Callable[[dict[str, Any], int], object] | None
) -> Callable[[dict[str, Any]], None] | None:
    """What is told of every epoch; nothing if nobody listens."""
    if not verbose and callback is None:
        return None
    line = _Line() if verbose else None

    def tell(metrics: dict[str, Any]) -> None:
        if line is not None:
            line.show(metrics)
        if callback is not None:
            callback(metrics, metrics["epoch"])

    return tell


class _Line:
    def __init__(self) -> None:
        self._shown = 0.0
        self._display: Any = _notebook()

    def show(self, metrics: dict[str, Any]) -> None:
        done = metrics["epoch"] == metrics["epochs"]
        now = time.monotonic()
        if now - self._shown < _PAUSE and not done:
            return
        self._shown = now
        violations = {k.rsplit("/", 1)[0]: v for k, v in metrics.items() if k.endswith("/violation")}
        said = f"epoch {metrics['epoch']} of {metrics['epochs']}  objective {metrics['objective']:.4g}"
        if violations:
            worst = max(violations, key=lambda name: violations[name])
            said += f"  worst violation {violations[worst]:+.3g} ({worst})"
        if self._display is not None:
            self._display(said)
        elif sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{said}" + ("\n" if done else ""))
            sys.stderr.flush()
        else:
            print(said, file=sys.stderr)


def _notebook() -> Callable[[str], None] | None:
    """What replaces a line of a notebook's output, where this is one."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is None or type(shell).__name__ != "ZMQInteractiveShell":
        return None
    from importlib import import_module

    display: Any = import_module("IPython.display").display
    handle: Any = display({"text/plain": ""}, raw=True, display_id=True)
    return lambda said: handle.update({"text/plain": said}, raw=True)
