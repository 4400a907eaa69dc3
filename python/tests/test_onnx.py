"""An estimator as an ONNX file; computed where onnxruntime is installed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from feasible import FeasibleClassifier, FeasibleError

from .conftest import Rows


def test_an_estimator_leaves_as_an_onnx_file(train: Rows, tmp_path: Path) -> None:
    model = FeasibleClassifier(epochs=3).fit(*train)
    onnx = model.to_onnx(tmp_path / "model.onnx")
    assert (tmp_path / "model.onnx").read_bytes() == onnx
    # A file begins with its version.
    assert onnx[:2] == b"\x08\x09" and onnx == model.to_onnx()
    assert model.to_onnx(numbers="float") != onnx
    with pytest.raises(FeasibleError, match="neither 'double' nor 'float'"):
        model.to_onnx(numbers="half")  # type: ignore[arg-type]


def test_onnxruntime_gives_the_probabilities_of_the_estimator(train: Rows, test: Rows) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    model, X = FeasibleClassifier(epochs=3).fit(*train), test[0]
    session = onnxruntime.InferenceSession(model.to_onnx(), providers=["CPUExecutionProvider"])
    types = {"tensor(string)": object, "tensor(double)": float}
    inputs = {one.name: X[one.name].astype(types[one.type]).to_numpy().reshape(-1, 1) for one in session.get_inputs()}
    label, probabilities = session.run(None, inputs)
    assert (label == model.predict(X)).all()
    # Sums in single precision, in another order.
    assert np.abs(probabilities - model.predict_proba(X)).max() < 1e-5
