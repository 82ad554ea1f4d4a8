//===- Nodes.h - loops, views and linalg ops of a program -------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_NODES_H
#define ZC_COMPILER_INTERPRETER_NODES_H

#include "compiler/Interpreter/RowBody.h"

namespace zc::interpreter {

using Registers = llvm::SmallVector<uint32_t, 4>;

/// A number that is known when the program is compiled, or a slot.
struct Extent {
  int64_t get(const Frame &frame) const {
    return dynamic ? frame.slots[slot].i : value;
  }
  bool dynamic = false;
  int64_t value = 0;
  uint32_t slot = 0;
};
using Extents = llvm::SmallVector<Extent, 6>;

/// scf.for: `arguments` start as `inits` and become `yields`.
class LoopNode : public Node {
public:
  void run(Frame &frame) const override;

  uint32_t lower, upper, step, induction;
  Registers inits, arguments, yields, results;
  Code body;
};

/// scf.if
class IfNode : public Node {
public:
  void run(Frame &frame) const override;

  uint32_t condition;
  Code thenCode, elseCode;
  Registers thenYields, elseYields, results;
};

/// memref.subview
class SubviewNode : public Node {
public:
  void run(Frame &frame) const override;

  uint32_t source, result;
  Extents offsets, sizes, strides; // one per dim of the source
  llvm::SmallVector<bool, 6> dropped;
};

/// memref.reinterpret_cast
class ReinterpretNode : public Node {
public:
  void run(Frame &frame) const override;

  uint32_t source, result;
  Extent offset;
  Extents sizes, strides;
};

/// memref.collapse_shape and memref.expand_shape. Each group of the finer
/// view's dims is one dim of the coarser.
class RegroupNode : public Node {
public:
  void run(Frame &frame) const override;

  uint32_t source, result;
  bool expands;
  llvm::SmallVector<llvm::SmallVector<int64_t, 2>> groups;
  llvm::SmallVector<int64_t, 6> resultSizes;
};

/// memref.load and memref.store
class AccessNode : public Node {
public:
  void run(Frame &frame) const override;

  uint32_t view, value;
  Registers indices;
  bool stores;
};

/// memref.dim
class DimNode : public Node {
public:
  void run(Frame &frame) const override;

  uint32_t view, dim, result;
};

/// memref.copy
class CopyNode : public Node {
public:
  void run(Frame &frame) const override;

  uint32_t source, target;
};

/// linalg.generic on memrefs: a nest of loops, each operand walked with one
/// stride per loop.
class GenericNode : public Node {
public:
  void run(Frame &frame) const override;

  struct Operand {
    uint32_t view;
    /// One per dim of the view: how far each loop moves along it, and where it
    /// starts.
    llvm::SmallVector<llvm::SmallVector<int64_t, 6>> coefficients;
    llvm::SmallVector<int64_t, 6> constants;
    bool isRead;
    uint32_t argument; // slot of the block argument
    bool isWritten;
    uint32_t yield; // slot of the yielded value
  };
  /// Loop i runs over dim rangeDims[i] of operand rangeOperands[i].
  Registers rangeOperands, rangeDims;
  llvm::SmallVector<Operand> operands;
  /// Slots of the loops' counters, for linalg.index; empty if unused.
  Registers counters;
  Code body;
  RowBody rowBody; // the same
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_NODES_H
