# SPDX-License-Identifier: GPL-3.0-or-later
"""Tensors in the processor's memory that claim to be on a CUDA device.

They compute what CUDA would, and refuse what it would refuse: to meet tensors of the host, and to
be arrays. Whatever makes the host and the device wait for each other is counted. So code for CUDA
is tested where there is none; what kernels do and how fast is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

CUDA, HOST = torch.device("cuda", 0), torch.device("cpu")
# What torch's C++ takes the device for: there it would look for a driver.
STAND_IN = torch.device("meta")
# Operations that tell the host a value, and those that may move tensors from one to the other.
LOOKS = ("aten::_local_scalar_dense", "aten::nonzero", "aten::_linalg_check_errors")
MOVES = ("aten::copy_", "aten::_to_copy")


class DeviceTensor(torch.Tensor):
    """A tensor on the pretended device; ``held`` is what it holds."""

    held: torch.Tensor
    device = property(lambda self: CUDA)
    is_cuda = property(lambda self: True)

    @staticmethod
    def __new__(cls: type, values: torch.Tensor) -> DeviceTensor:
        layout = {}
        if values.layout == torch.strided:
            layout = {"strides": values.stride(), "storage_offset": values.storage_offset()}
        tensor: DeviceTensor = torch.Tensor._make_wrapper_subclass(
            cls, values.shape, dtype=values.dtype, device=STAND_IN, **layout
        )
        tensor.held = values
        return tensor

    def numpy(self, *, force: bool = False) -> Any:
        raise TypeError("A tensor on a CUDA device is no array; move it to the host first.")

    __array__ = numpy  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, operation: Any, *_: Any) -> Any:
        raise AssertionError(f"{operation}: the pretended device is gone")


class PretendedCuda:
    """The device; ``waits`` counts how often it and the host waited for each other."""

    def __init__(self) -> None:
        self.waits = 0

    def run(self, operation: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        name, target = operation.name(), kwargs.get("device")
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        own = {id(x.held): x for x in tensors if isinstance(x, DeviceTensor)}
        # Numbers may come from the host.
        foreign = any(x.ndim > 0 for x in tensors if not isinstance(x, DeviceTensor))
        if own and foreign and name not in MOVES:
            raise RuntimeError(f"{name}: a tensor of the host meets one on CUDA")
        moves = foreign if own else tensors and target == STAND_IN
        self.waits += bool(moves or (own and (name in LOOKS or target == HOST or _selects(args))))
        result = operation(*tree_map(_values, args), **tree_map(_values, kwargs))
        if target == STAND_IN or (own and target != HOST):
            return tree_map(lambda x: _on_device(x, own), result)
        return result


def _selects(args: tuple[Any, ...]) -> bool:
    """Whether a mask is among the indices: how much it selects only the device knows."""
    return any(
        isinstance(x, torch.Tensor) and x.dtype == torch.bool for x in tree_leaves(args[1:2])
    )


def _values(argument: Any) -> Any:
    if isinstance(argument, DeviceTensor):
        return argument.held
    return HOST if argument == STAND_IN else argument


def _on_device(result: Any, own: dict[int, DeviceTensor]) -> Any:
    if not isinstance(result, torch.Tensor):
        return result
    # What works in place gives back what it was given.
    return own[id(result)] if id(result) in own else DeviceTensor(result)


class _Operations(TorchDispatchMode):
    def __init__(self, device: PretendedCuda) -> None:
        super().__init__()
        self._device = device

    def __torch_dispatch__(
        self, operation: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return self._device.run(operation, args, kwargs or {})


class _Functions(TorchFunctionMode):
    """The functions that never become an operation."""

    def __init__(self, device: PretendedCuda) -> None:
        super().__init__()
        self._device = device

    def __torch_function__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        if function is torch.Tensor.tolist and isinstance(args[0], DeviceTensor):
            self._device.waits += 1
            return args[0].held.tolist()
        if function is torch.Tensor.new_tensor and isinstance(args[0], DeviceTensor):
            kwargs.setdefault("dtype", args[0].dtype)
            return torch.tensor(*args[1:], **kwargs).to(STAND_IN)
        if function in (torch.as_tensor, torch.tensor) and _is_cuda(kwargs.get("device")):
            del kwargs["device"]
            return function(*args, **kwargs).to(STAND_IN)
        if function is not torch.device:
            args, kwargs = tree_map(lambda x: STAND_IN if _is_cuda(x) else x, (args, kwargs))
        return function(*args, **kwargs)


def _is_cuda(argument: Any) -> bool:
    return isinstance(argument, str | torch.device) and str(argument).startswith("cuda")


@contextmanager
def pretended_cuda() -> Iterator[PretendedCuda]:
    """Makes ``cuda`` a device of this kind."""
    device = PretendedCuda()
    with _Operations(device), _Functions(device):
        yield device
