"""Choice between machine code and arrays: without LLVM, or permission to use it, arrays give the same more slowly."""

import ctypes
import mmap
import sys
import warnings
from collections.abc import Callable
from functools import cache
from typing import TypeVar

Result = TypeVar("Result")


def by_code(code: Callable[[], Result], arrays: Callable[[], Result]) -> Result:
    """Result of machine code, or of arrays if machine code is impossible, with one warning per process."""
    reason = obstacle()
    if reason is None:
        return code()
    _warn(reason)
    return arrays()


@cache
def obstacle() -> str | None:
    """Reason why machine code is impossible here, or None.

    LLVM aborts the process if memory must not become executable (SELinux, PaX, systemd's MemoryDenyWriteExecute), so
    this is tested before LLVM is used.
    """
    try:
        import llvmlite.binding  # noqa: F401
    except (ImportError, OSError) as error:
        return f"llvmlite cannot be loaded: {error}"
    if sys.platform == "linux" and not _may_execute():
        return "memory may not be made executable"
    try:
        from audiosim.kernels.vector_code import Code

        Code(["numbers"]).translated()
    except (RuntimeError, OSError) as error:
        return str(error)
    return None


def _may_execute() -> bool:
    """True if written memory may become executable."""
    size = mmap.PAGESIZE
    with mmap.mmap(-1, size, prot=mmap.PROT_READ | mmap.PROT_WRITE) as memory:
        place, length = ctypes.c_char.from_buffer(memory), ctypes.c_size_t(size)
        protect, start = ctypes.CDLL(None).mprotect, ctypes.c_void_p(ctypes.addressof(place))
        refused = protect(start, length, mmap.PROT_READ | mmap.PROT_EXEC)
        protect(start, length, mmap.PROT_READ | mmap.PROT_WRITE)
        del place
    return not refused


@cache
def _warn(reason: str) -> None:
    warnings.warn(f"no machine code: {reason}; arrays are used, which takes several times as long", stacklevel=4)
