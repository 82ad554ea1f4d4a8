#!/usr/bin/env python3
"""Each folder may include what a table says.

Each row names a folder, the folders of zc it may include, and the libraries
from outside. The row with the longest matching folder counts. Only the
#include lines are read, and of them only the leading words.
"""
import re

import tree

# Libraries from outside, by what their headers are called.
LIBRARIES = {
    "mlir": r"(mlir|mlir-c)/",
    "llvm": r"(llvm|llvm-c|lld)/",
    "onnx": r"onnx/",
    "protobuf": r"google/protobuf/",
    "dnnl": r"(oneapi/dnnl/|dnnl)",
    "mpi": r"mpi\.h",
    "nccl": r"nccl",
    "cuda": r"(cuda|cublas|cudnn|cupti|nvrtc|driver_types)",
    "json": r"nlohmann/",
    "log": r"spdlog/",
    "cli": r"CLI/",
    "zlib": r"zlib\.h",
    "sodium": r"sodium",
    "test": r"(gtest|gmock|benchmark)/",
}

RUNTIME_CORE = ("runtime/Base", "runtime/Plan", "runtime/Device/*.h",
                "runtime/Comm/*.h")

# The groups of passes, lowest first, and the groups below that each may
# include: a pass asks what others offer, but none knows one that runs around
# it. The order in which all run is Contents'.
PASS_GROUPS = {
    "Target": (),
    "Analysis": ("Target",),
    "Import": (),
    "Precision": (),
    "Autodiff": ("Analysis", "Precision"),
    "Sharding": ("Analysis", "Precision", "Autodiff"),
    "Experts": ("Autodiff", "Sharding"),
    "Sequence": ("Target", "Analysis", "Import", "Autodiff", "Sharding"),
    "Collectives": ("Analysis", "Sharding", "Sequence"),
    "Scheduling": ("Target", "Analysis"),
    "Pipeline": ("Target", "Analysis", "Autodiff", "Sharding", "Sequence",
                 "Scheduling"),
    "Fusion": ("Target", "Analysis", "Sharding"),
    "Memory": ("Target", "Analysis", "Scheduling", "Pipeline"),
    "Allocation": (),
    "Codegen": ("Target", "Analysis"),
    "Proof": (),
}


def pass_rows():
    """Rows of ROWS for PASS_GROUPS."""
    rows, below = {}, []
    for group, lower in PASS_GROUPS.items():
        assert set(lower) <= set(below), f"{group} may include what is below"
        folders = [f"passes/{each}" for each in (group, *lower)]
        rows[f"passes/{group}"] = (("dialects", *folders), ("mlir", "llvm"))
        below.append(group)
    return rows


# folder: (may include of zc, libraries)
ROWS = {
    "kernels": (("kernels",), ()),
    # Kernels do what calls say, and none of these knows a kernel.
    "kernels/Calls": (("kernels/Calls", "kernels/*.h"), ()),
    # Threads are the process's: the runtime's base knows who wants processors.
    "kernels/Cpu": (("kernels", "runtime/Base"), ("dnnl",)),
    "runtime/Base": (("runtime/Base",), ("log",)),
    "runtime/Base/Sodium": (("runtime/Base",), ("sodium",)),
    # Library calls are checked by the rooms of their kinds.
    "runtime/Plan": (("runtime/Base", "runtime/Plan", "kernels/Calls"),
                     ("protobuf", "zlib", "json")),
    "runtime/Simulate": (("runtime/Base", "runtime/Plan", "runtime/Simulate",
                          "kernels/Calls"),
                         ("protobuf", "json")),
    # The interface speaks of kernels by their plain descriptions.
    "runtime/Device": (("runtime/Base", "runtime/Plan", "runtime/Device",
                        "kernels/Calls"), ()),
    "runtime/Device/Cpu": (("runtime/Base", "runtime/Plan", "runtime/Device",
                            "kernels"), ("dnnl",)),
    "runtime/Device/Cuda": (("runtime/Base", "runtime/Plan", "runtime/Device",
                             "kernels"), ("cuda",)),
    "runtime/Comm": (("runtime/Base", "runtime/Plan", "runtime/Device/*.h",
                      "kernels/*.h", "runtime/Comm"), ()),
    "runtime/Comm/Mpi": (("runtime/Base", "runtime/Plan",
                          "runtime/Device/*.h", "runtime/Comm"), ("mpi",)),
    "runtime/Comm/Nccl": (("runtime/Base", "runtime/Plan",
                           "runtime/Device/*.h", "runtime/Comm",
                           "runtime/Device/Cuda/Library.h"),
                          ("nccl", "cuda")),
    "runtime": (("runtime/Exec", "runtime/Io", "runtime/Trace",
                 *RUNTIME_CORE), ("json", "log", "zlib", "protobuf")),
    "runtime/Driver": (("runtime",), ("json", "log", "cli")),
    "runtime/Api": (("runtime",), ("protobuf",)),
    "dialects": (("dialects",), ("mlir", "llvm")),
    **pass_rows(),
    "passes/Contents": (("dialects", "passes"), ("mlir", "llvm")),
    "compiler": (("compiler", "passes", "dialects", "kernels",
                  "runtime/Plan", "runtime/Base", "runtime/Simulate"),
                 ("mlir", "llvm", "cli", "json", "log")),
    "compiler/Import": (("compiler/Import", "compiler/OnnxModel",
                         "dialects"), ("mlir", "llvm", "onnx", "protobuf")),
    "compiler/OnnxModel": (("compiler/OnnxModel",),
                           ("llvm", "onnx", "protobuf")),
    "compiler/Export": (("compiler", "dialects", "passes", "runtime/Base",
                         "runtime/Plan", "kernels/Calls"),
                        ("mlir", "llvm", "protobuf", "onnx", "json",
                         "zlib")),
    "compiler/Plan": (("compiler/Plan", "compiler/Export/Inspect.h",
                       "compiler/Export/HtmlParts.h",
                       "runtime/Base", "runtime/Plan", "runtime/Simulate"),
                      ("llvm", "protobuf", "json")),
    # Independent of what it checks: of passes it knows how messages are named.
    "compiler/Interpreter": (("compiler/Interpreter", "dialects",
                              "passes/Analysis/Messages.h", "kernels/Ref"),
                             ("mlir", "llvm")),
    # Programs and tests stand outside the house and may look into any room.
    "tools": (("",), tuple(LIBRARIES)),
    "test": (("",), tuple(LIBRARIES)),
}

INCLUDE = re.compile(r'^\s*#\s*include\s*(<([^>]+)>|"([^"]+)")')


def row_of(folder):
    """The row with the longest folder that contains `folder`, or nothing."""
    fitting = [f for f in ROWS if folder == f or folder.startswith(f + "/")]
    return max(fitting, key=len, default=None)


def allowed(header, pattern):
    """Whether `pattern`, a folder, folder/*.h or a header, covers the header."""
    if pattern.endswith("/*.h"):
        return header.rpartition("/")[0] == pattern[:-len("/*.h")]
    return (pattern in ("", header)) or header.startswith(pattern + "/")


def complaint_about(header, quoted, folder):
    """Why `folder` may not include `header`, or nothing."""
    row = row_of(folder)
    ours, libraries = ROWS[row]
    if header.split("/")[0] in tree.ROOMS and "/" in header:
        if not any(allowed(header, pattern) for pattern in ours):
            return f"{row} may not include {header.rpartition('/')[0]}"
        return None
    for library, pattern in LIBRARIES.items():
        if re.match(pattern, header):
            if library not in libraries:
                return f"{row} may not include {library} ({header})"
            return None
    if quoted:
        return f'"{header}": include paths begin at the repository\'s root'
    return None


def check(root):
    for path in tree.files(root, {".h", ".cpp", ".cu", ".cuh"}):
        folder = path.parent.relative_to(root).as_posix()
        if not row_of(folder):
            yield f"{path.relative_to(root)}: no row says what it may include"
            continue
        lines = path.read_text(errors="replace").splitlines()
        for number, line in enumerate(lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            header = match.group(2) or match.group(3)
            why = complaint_about(header, bool(match.group(3)), folder)
            if why:
                yield f"{path.relative_to(root)}:{number}: {why}"


if __name__ == "__main__":
    tree.run("layers", check)
