//===- Nodes.cpp - loops, views and linalg ops of a program ---------------===//
#include "compiler/Interpreter/Nodes.h"

#include "compiler/Interpreter/Field.h"

namespace zc::interpreter {

/// All at once: a target may be another's source.
static void moveSlots(Frame &frame, const Registers &from,
                      const Registers &to) {
  llvm::SmallVector<Slot, 4> values;
  for (uint32_t slot : from)
    values.push_back(frame.slots[slot]);
  for (size_t i = 0; i < values.size(); ++i)
    frame.slots[to[i]] = values[i];
}

void LoopNode::run(Frame &frame) const {
  int64_t begin = frame.slots[lower].i, end = frame.slots[upper].i;
  int64_t by = frame.slots[step].i;
  moveSlots(frame, inits, arguments);
  for (int64_t i = begin; i < end; i += by) {
    frame.slots[induction].i = i;
    execute(body, frame);
    moveSlots(frame, yields, arguments);
  }
  moveSlots(frame, arguments, results);
}

void IfNode::run(Frame &frame) const {
  bool holds = frame.slots[condition].i != 0;
  execute(holds ? thenCode : elseCode, frame);
  moveSlots(frame, holds ? thenYields : elseYields, results);
}

/// `index`, or 0 where it is none of the `size` elements.
static int64_t inside(int64_t index, int64_t size, Frame &frame) {
  if (index >= 0 && index < size)
    return index;
  frame.leftView = true;
  return 0;
}

void SubviewNode::run(Frame &frame) const {
  const View &from = frame.views[source];
  View view;
  view.base = from.base;
  view.data = from.data;
  for (size_t dim = 0; dim < offsets.size(); ++dim) {
    int64_t offset = offsets[dim].get(frame);
    const int64_t size = sizes[dim].get(frame);
    const int64_t stride = strides[dim].get(frame);
    if (offsets[dim].dynamic && size > 0)
      offset = inside(offset, from.sizes[dim] - (size - 1) * stride, frame);
    view.data += offset * from.strides[dim];
    if (dropped[dim])
      continue;
    view.sizes.push_back(size);
    view.strides.push_back(stride * from.strides[dim]);
  }
  frame.views[result] = std::move(view);
}

void ReinterpretNode::run(Frame &frame) const {
  View view;
  view.base = frame.views[source].base;
  view.data = view.base + offset.get(frame);
  for (const Extent &size : sizes)
    view.sizes.push_back(size.get(frame));
  for (const Extent &stride : strides)
    view.strides.push_back(stride.get(frame));
  frame.views[result] = std::move(view);
}

void RegroupNode::run(Frame &frame) const {
  const View &from = frame.views[source];
  View view;
  view.base = from.base;
  view.data = from.data;
  view.sizes = resultSizes;
  view.strides.assign(resultSizes.size(), 1);
  for (size_t coarse = 0; coarse < groups.size(); ++coarse) {
    if (!expands) {
      // A group's stride is that of its last dim of several elements.
      for (int64_t fine : groups[coarse])
        if (from.sizes[fine] != 1)
          view.strides[coarse] = from.strides[fine];
      continue;
    }
    int64_t stride = from.strides[coarse];
    for (int64_t fine : llvm::reverse(groups[coarse])) {
      view.strides[fine] = stride;
      stride *= resultSizes[fine];
    }
  }
  frame.views[result] = std::move(view);
}

void AccessNode::run(Frame &frame) const {
  const View &from = frame.views[view];
  Slot *element = from.data;
  for (size_t dim = 0; dim < indices.size(); ++dim)
    element += inside(frame.slots[indices[dim]].i, from.sizes[dim], frame) *
               from.strides[dim];
  if (stores)
    *element = frame.slots[value];
  else
    frame.slots[value] = *element;
}

void DimNode::run(Frame &frame) const {
  frame.slots[result].i = frame.views[view].sizes[frame.slots[dim].i];
}

static void copy(const View &from, const View &to, size_t dim, Slot *source,
                 Slot *target) {
  if (dim == from.sizes.size()) {
    *target = *source;
    return;
  }
  for (int64_t i = 0; i < from.sizes[dim]; ++i)
    copy(from, to, dim + 1, source + i * from.strides[dim],
         target + i * to.strides[dim]);
}

void CopyNode::run(Frame &frame) const {
  const View &from = frame.views[source], &to = frame.views[target];
  copy(from, to, 0, from.data, to.data);
}

/// Whether the body adds a product to its last operand: the numbers of its
/// two factors are 0 and 1.
static bool isContraction(const GenericNode &node) {
  if (node.operands.size() != 3 || node.body.size() != 2 ||
      !node.counters.empty())
    return false;
  const Instruction &product = node.body[0], &sum = node.body[1];
  const auto &a = node.operands[0], &b = node.operands[1],
             &into = node.operands[2];
  auto takes = [](const Instruction &in, uint32_t left, uint32_t right) {
    return (in.operands[0] == left && in.operands[1] == right) ||
           (in.operands[0] == right && in.operands[1] == left);
  };
  return product.opcode == Opcode::MulF && sum.opcode == Opcode::AddF &&
         !product.rounds && !sum.rounds && a.isRead && b.isRead &&
         into.isRead && !a.isWritten && !b.isWritten && into.isWritten &&
         takes(product, a.argument, b.argument) &&
         takes(sum, product.result, into.argument) && into.yield == sum.result;
}

namespace {
/// One execution of a GenericNode.
struct GenericRun {
  GenericRun(const GenericNode &node, Frame &frame) : node(node), frame(frame) {
    for (size_t loop = 0; loop < node.rangeOperands.size(); ++loop) {
      uint32_t view = node.operands[node.rangeOperands[loop]].view;
      ranges.push_back(frame.views[view].sizes[node.rangeDims[loop]]);
    }
    for (const auto &operand : node.operands)
      addCursor(operand);
    contracts = isContraction(node);
  }

  void addCursor(const GenericNode::Operand &operand) {
    const View &view = frame.views[operand.view];
    Slot *first = view.data;
    llvm::SmallVector<int64_t, 6> moves(ranges.size(), 0);
    for (size_t dim = 0; dim < operand.constants.size(); ++dim) {
      first += operand.constants[dim] * view.strides[dim];
      for (size_t loop = 0; loop < ranges.size(); ++loop)
        moves[loop] += operand.coefficients[dim][loop] * view.strides[dim];
    }
    cursors.push_back(first);
    strides.push_back(std::move(moves));
  }

  void runElement() {
    for (size_t i = 0; i < cursors.size(); ++i)
      if (node.operands[i].isRead)
        frame.slots[node.operands[i].argument] = *cursors[i];
    execute(node.body, frame);
    for (size_t i = 0; i < cursors.size(); ++i)
      if (node.operands[i].isWritten)
        *cursors[i] = frame.slots[node.operands[i].yield];
  }

  template <bool isExact> void contract(size_t loop) const {
    const Slot *a = cursors[0], *b = cursors[1];
    Slot *sum = cursors[2];
    for (int64_t i = 0; i < ranges[loop]; ++i) {
      if (isExact)
        sum->i = field::add(sum->i, field::multiply(a->i, b->i));
      else
        sum->f += a->f * b->f;
      a += strides[0][loop];
      b += strides[1][loop];
      sum += strides[2][loop];
    }
  }

  void runLoop(size_t loop) {
    if (loop == ranges.size())
      return runElement();
    if (contracts && loop + 1 == ranges.size())
      return node.body[0].isExact ? contract<true>(loop)
                                  : contract<false>(loop);
    for (int64_t i = 0; i < ranges[loop]; ++i) {
      if (!node.counters.empty())
        frame.slots[node.counters[loop]].i = i;
      runLoop(loop + 1);
      for (size_t c = 0; c < cursors.size(); ++c)
        cursors[c] += strides[c][loop];
    }
    for (size_t c = 0; c < cursors.size(); ++c)
      cursors[c] -= ranges[loop] * strides[c][loop];
  }

  const GenericNode &node;
  Frame &frame;
  llvm::SmallVector<int64_t, 6> ranges;
  llvm::SmallVector<Slot *, 6> cursors;
  llvm::SmallVector<llvm::SmallVector<int64_t, 6>, 6> strides;
  bool contracts = false; // the innermost loop runs in one piece
};
} // namespace

void GenericNode::run(Frame &frame) const {
  GenericRun(*this, frame).runLoop(0);
}

} // namespace zc::interpreter
