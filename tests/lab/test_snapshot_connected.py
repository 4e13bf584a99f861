"""Snapshots and forks of a lab in another process."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit import Lab, OwnProcessError


def test_a_lab_elsewhere_saves_and_restores(served_lab: Lab, tmp_path: Path) -> None:
    product = served_lab.product("thing", resources={"a": "string"})
    device = product.device("d").activate()
    device.write(a="1")
    path = served_lab.save(tmp_path / "past.lab")
    device.write(a="2")
    device.activate()
    served_lab.restore(path)
    assert device.read("a") == {"a": "1"}
    with Lab(seed=7) as own:
        own.restore(path)
        assert own.product("thing").device("d").read("a") == {"a": "1"}
        own.product("thing").device("d").write(a="3")
        served_lab.restore(own.snapshot())
    assert device.read("a") == {"a": "3"}


def test_a_lab_elsewhere_cannot_fork(served_lab: Lab) -> None:
    with pytest.raises(OwnProcessError, match=r"^fork: needs the lab's own process: .* lab.save\(path\)$"):
        served_lab.fork(lambda lab, value: value, over=[1])
