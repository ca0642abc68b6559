"""A small language for machine code that handles several numbers at a time, translated by LLVM.

Adjacent numbers are read, added, multiplied and written together. numba cannot infer from loops over arrays that this
is allowed; it takes seconds to compile them, and a quarter of a second to load. Its package llvmlite takes a tenth of a
second for both. Nothing is kept on disk.

Numbers are read 64 bytes at a time: sixteen in single, eight in double precision.
"""

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from llvmlite import binding, ir
from numpy.typing import NDArray

from audiosim.stats.arrays import Precision

SIDE_BY_SIDE: Mapping[Precision, int] = {"single": 16, "double": 8}

_NUMBERS = {"single": ir.FloatType(), "double": ir.DoubleType()}
_WHOLE, _POINTER = ir.IntType(64), ir.PointerType()
_FLAGS = ("contract",)  # lets a product and a sum be rounded once, together


class Lanes(NamedTuple):
    """Adjacent numbers, handled together."""

    builder: Any
    value: Any

    def __add__(self, other: "Lanes") -> "Lanes":  # type: ignore[override]
        return Lanes(self.builder, self.builder.fadd(self.value, other.value, flags=_FLAGS))

    def __sub__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.builder, self.builder.fsub(self.value, other.value, flags=_FLAGS))

    def __mul__(self, other: "Lanes") -> "Lanes":  # type: ignore[override]
        return Lanes(self.builder, self.builder.fmul(self.value, other.value, flags=_FLAGS))

    def __truediv__(self, other: "Lanes") -> "Lanes":
        return Lanes(self.builder, self.builder.fdiv(self.value, other.value))

    def sorted_with(self, other: "Lanes") -> tuple["Lanes", "Lanes"]:
        """The smaller and the larger of each pair."""
        choose, less = self.builder.select, self.builder.fcmp_ordered("<", self.value, other.value)
        smaller, larger = choose(less, self.value, other.value), choose(less, other.value, self.value)
        return Lanes(self.builder, smaller), Lanes(self.builder, larger)


class Place(NamedTuple):
    """A whole number that denotes a place in memory."""

    builder: Any
    value: Any

    def __add__(self, other: "Place | int") -> "Place":  # type: ignore[override]
        return Place(self.builder, self.builder.add(self.value, _whole(other)))

    def __sub__(self, other: "Place | int") -> "Place":
        return Place(self.builder, self.builder.sub(self.value, _whole(other)))

    def __mul__(self, other: "Place | int") -> "Place":  # type: ignore[override]
        return Place(self.builder, self.builder.mul(self.value, _whole(other)))

    def __floordiv__(self, other: int) -> "Place":
        return Place(self.builder, self.builder.udiv(self.value, _whole(other)))


def _whole(number: Place | int) -> Any:
    return number.value if isinstance(number, Place) else ir.Constant(_WHOLE, number)


class NumbersInMemory(NamedTuple):
    """Numbers one after the other in memory: of the code's precision, or whole numbers."""

    builder: Any
    pointer: Any
    kind: Any
    vector: Any

    def after(self, place: Place | int) -> "NumbersInMemory":
        """Memory that starts at a place; not for whole numbers."""
        return self._replace(pointer=self._at(place))

    def take(self, place: Place | int) -> Lanes:
        """Read one number per lane, starting at a place."""
        return Lanes(self.builder, self.builder.load(self._at(place), align=4, typ=self.vector))

    def put(self, place: Place | int, lanes: Lanes) -> None:
        """Write one number per lane, starting at a place."""
        self.builder.store(lanes.value, self._at(place), align=4)

    def spread(self, place: Place | int) -> Lanes:
        """The number at a place, in every lane."""
        value, nothing = self.builder.load(self._at(place), typ=self.kind), ir.Constant(self.vector, ir.Undefined)
        first = self.builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
        count = self.vector.count
        all_first = ir.Constant(ir.VectorType(ir.IntType(32), count), [0] * count)
        return Lanes(self.builder, self.builder.shuffle_vector(first, nothing, all_first))

    def copy(self, place: Place | int, source: "NumbersInMemory", at: Place | int) -> None:
        """Write one number of another memory at a place."""
        self.builder.store(self.builder.load(source._at(at), typ=self.kind), self._at(place))

    def place(self, place: Place | int) -> Place:
        """Whole number at a place, as a place."""
        at = self.builder.gep(self.pointer, [_whole(place)], source_etype=_WHOLE)
        return Place(self.builder, self.builder.load(at, typ=_WHOLE))

    def _at(self, place: Place | int) -> Any:
        return self.builder.gep(self.pointer, [_whole(place)], source_etype=self.kind)


class Code:
    """A function under construction, of a count and of memories that do not overlap."""

    def __init__(self, memories: Sequence[str], precision: Precision = "single") -> None:
        self._module, self._kind = ir.Module(), _NUMBERS[precision]
        self._vector = ir.VectorType(self._kind, SIDE_BY_SIDE[precision])
        function = ir.Function(
            self._module, ir.FunctionType(ir.VoidType(), [_WHOLE, *[_POINTER] * len(memories)]), "code"
        )
        for pointer in function.args[1:]:
            pointer.add_attribute("noalias")
        self._builder = ir.IRBuilder(function.append_basic_block())
        self.count = Place(self._builder, function.args[0])
        self._memories = {
            name: NumbersInMemory(self._builder, pointer, self._kind, self._vector)
            for name, pointer in zip(memories, function.args[1:], strict=True)
        }
        name = f"llvm.sqrt.v{SIDE_BY_SIDE[precision]}f{32 if precision == 'single' else 64}"
        self._root = ir.Function(self._module, ir.FunctionType(self._vector, [self._vector]), name)

    def __getitem__(self, name: str) -> NumbersInMemory:
        return self._memories[name]

    def constant(self, number: float) -> Lanes:
        """A number, in every lane."""
        return Lanes(self._builder, ir.Constant(self._vector, [ir.Constant(self._kind, number)] * self._vector.count))

    def whole(self, number: int) -> Place:
        """A whole number as a place."""
        return Place(self._builder, _whole(number))

    def root(self, lanes: Lanes) -> Lanes:
        """The square root of each number."""
        return Lanes(self._builder, self._builder.call(self._root, [lanes.value]))

    @contextmanager
    def loop(self, start: Place | int, stop: Place | int, step: int = 1) -> Iterator[Place]:
        """Loop over the code written inside, for start, start + step and so on, below stop; at least once."""
        with self._loop(start, stop, step, []) as (place, _, _):
            yield place

    def fold(
        self, start: Place, stop: Place, first: Sequence[Lanes], one: Callable[[Place, list[Lanes]], list[Lanes]]
    ) -> list[Lanes]:
        """Fold: result of `one` applied to a place and its previous result, from `first` on; at least once."""
        with self._loop(start, stop, 1, first) as (place, carried, after):
            after.extend(one(place, carried))
        return after

    @contextmanager
    def _loop(
        self, start: Place | int, stop: Place | int, step: int, first: Sequence[Lanes]
    ) -> Iterator[tuple[Place, list[Lanes], list[Lanes]]]:
        builder, before, after = self._builder, self._builder.block, list[Lanes]()
        inside, end = builder.append_basic_block(), builder.append_basic_block()
        builder.branch(inside)
        builder.position_at_end(inside)
        place, phis = builder.phi(_WHOLE), [builder.phi(self._vector) for _ in first]
        yield Place(builder, place), [Lanes(builder, phi) for phi in phis], after
        following = builder.add(place, _whole(step))
        for phi, once, again in zip(
            [place, *phis],
            [_whole(start), *(f.value for f in first)],
            [following, *(a.value for a in after)],
            strict=True,
        ):
            phi.add_incoming(once, before)
            phi.add_incoming(again, builder.block)
        builder.cbranch(builder.icmp_unsigned("<", following, _whole(stop)), inside, end)
        builder.position_at_end(end)

    def translated(self) -> "Translated":
        """The function, compiled for the present processor; nothing can be added to it."""
        self._builder.ret_void()
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        processor, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
        machine = binding.Target.from_default_triple().create_target_machine(cpu=processor, features=features, opt=2)
        engine = binding.create_mcjit_compiler(binding.parse_assembly(str(self._module)), machine)
        engine.finalize_object()
        return Translated(engine, tuple(self._memories))


class Translated:
    """Machine code, called with a count and an array for each memory."""

    def __init__(self, engine: Any, memories: Sequence[str]) -> None:
        pointers = [ctypes.c_void_p] * len(memories)
        self._engine = engine  # keeps the code alive
        self._call = ctypes.CFUNCTYPE(None, ctypes.c_int64, *pointers)(engine.get_function_address("code"))
        self._memories = memories

    def __call__(self, count: int, **arrays: NDArray[np.float32 | np.float64 | np.int64]) -> None:
        self._call(count, *(arrays[name].ctypes.data for name in self._memories))
