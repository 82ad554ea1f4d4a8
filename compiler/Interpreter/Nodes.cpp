//===- Nodes.cpp - loops, views and linalg ops of a program ---------------===//
#include "compiler/Interpreter/Nodes.h"

#include "compiler/Interpreter/Field.h"

#include <optional>

namespace zc::interpreter {

/// All at once: a target may be another's source.
static void moveSlots(Frame &frame, const Registers &from,
                      const Registers &to) {
  if (from.size() == 1)
    frame.slots[to[0]] = frame.slots[from[0]];
  if (from.size() <= 1)
    return;
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
  // In place: it is run for every element of a window.
  const View &from = frame.views[source];
  View &view = frame.views[result];
  view.base = from.base;
  view.data = from.data;
  view.sizes.clear();
  view.strides.clear();
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
class GenericRun {
public:
  GenericRun(const GenericNode &node, Frame &frame)
      : node(node), frame(frame), numLoops(node.rangeOperands.size()) {
    for (size_t loop = 0; loop < numLoops; ++loop) {
      uint32_t view = node.operands[node.rangeOperands[loop]].view;
      ranges.push_back(frame.views[view].sizes[node.rangeDims[loop]]);
      order.push_back(loop);
    }
    for (const auto &operand : node.operands)
      addCursor(operand);
  }

  void run() {
    if (llvm::is_contained(ranges, 0))
      return;
    joinLoops();
    contracts = isContraction(node) && !order.empty();
    if (contracts)
      moveInwards(*llvm::max_element(
          order, [&](size_t a, size_t b) { return ranges[a] < ranges[b]; }));
    else
      chooseRow();
    runLoop(0);
  }

private:
  int64_t stride(size_t cursor, size_t loop) const {
    return strides[cursor * numLoops + loop];
  }

  void addCursor(const GenericNode::Operand &operand) {
    const View &view = frame.views[operand.view];
    Slot *first = view.data;
    const size_t begin = strides.size();
    strides.append(numLoops, 0);
    for (size_t dim = 0; dim < operand.constants.size(); ++dim) {
      first += operand.constants[dim] * view.strides[dim];
      for (size_t loop = 0; loop < numLoops; ++loop)
        strides[begin + loop] +=
            operand.coefficients[dim][loop] * view.strides[dim];
    }
    cursors.push_back(first);
  }

  /// Two loops are one where every operand goes on behind the inner one's end
  /// as within it.
  void joinLoops() {
    if (!node.counters.empty())
      return;
    llvm::erase_if(order, [&](size_t loop) { return ranges[loop] == 1; });
    for (size_t i = order.size(); i-- > 1;) {
      const size_t outer = order[i - 1], inner = order[i];
      bool isOne = true;
      for (size_t c = 0; c < cursors.size(); ++c)
        isOne &= stride(c, outer) == stride(c, inner) * ranges[inner];
      if (!isOne)
        continue;
      ranges[inner] *= ranges[outer];
      order.erase(order.begin() + i - 1);
    }
  }

  /// Each element's terms keep their order, but where the loop adds them up.
  void moveInwards(size_t loop) {
    order.erase(llvm::find(order, loop));
    order.push_back(loop);
  }

  /// Whether one element that is written is read under another index.
  bool readsWritten() const {
    auto baseOf = [&](size_t c) {
      return frame.views[node.operands[c].view].base;
    };
    auto moveAlike = [&](size_t a, size_t b) {
      return cursors[a] == cursors[b] && llvm::all_of(order, [&](size_t loop) {
               return stride(a, loop) == stride(b, loop);
             });
    };
    for (size_t a = 0; a < cursors.size(); ++a)
      for (size_t b = 0; node.operands[a].isWritten && b < cursors.size(); ++b)
        if (a != b && baseOf(a) == baseOf(b) && !moveAlike(a, b))
          return true;
    return false;
  }

  /// Takes the longest loop along which every element is another one for rows.
  void chooseRow() {
    constexpr int64_t kLeast = 4, kMost = 128;
    if (!node.rowBody.canRun())
      return;
    std::optional<size_t> chosen;
    for (size_t loop : order) {
      bool movesAll = true;
      for (size_t c = 0; c < cursors.size(); ++c)
        movesAll &= !node.operands[c].isWritten || stride(c, loop) != 0;
      if (movesAll && (!chosen || ranges[loop] >= ranges[*chosen]))
        chosen = loop;
    }
    if (!chosen || ranges[*chosen] < kLeast || readsWritten())
      return;
    moveInwards(*chosen);
    row.emplace(node.rowBody, frame, std::min(ranges[*chosen], kMost));
    mostOfRow = kMost;
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
      a += stride(0, loop);
      b += stride(1, loop);
      sum += stride(2, loop);
    }
  }

  /// `count` elements of the innermost loop, from number `begin` on.
  void runRow(size_t loop, int64_t begin, int64_t count) {
    for (size_t c = 0; c < cursors.size(); ++c) {
      if (!node.operands[c].isRead)
        continue;
      const uint32_t lane = node.rowBody.laneOf(node.operands[c].argument);
      const int64_t by = stride(c, loop);
      Slot *from = cursors[c] + begin * by;
      Slot *&place = (*row)[lane];
      place = by == 1 ? from : row->ownPlace(lane);
      for (int64_t i = 0; by != 1 && i < count; ++i)
        place[i] = from[i * by];
    }
    for (size_t other = 0; other < node.counters.size(); ++other) {
      Slot *place = (*row)[node.rowBody.laneOf(node.counters[other])];
      for (int64_t i = 0; i < count; ++i)
        place[i].i =
            other == loop ? begin + i : frame.slots[node.counters[other]].i;
    }
    row->run(count);
    for (size_t c = 0; c < cursors.size(); ++c) {
      if (!node.operands[c].isWritten)
        continue;
      const Slot *made = (*row)[node.rowBody.laneOf(node.operands[c].yield)];
      const int64_t by = stride(c, loop);
      Slot *to = cursors[c] + begin * by;
      for (int64_t i = 0; i < count; ++i)
        to[i * by] = made[i];
    }
  }

  void runInnermost(size_t loop) {
    if (contracts)
      return node.body[0].isExact ? contract<true>(loop)
                                  : contract<false>(loop);
    for (int64_t i = 0; i < ranges[loop]; i += mostOfRow)
      runRow(loop, i, std::min(mostOfRow, ranges[loop] - i));
  }

  void runLoop(size_t depth) {
    if (depth == order.size())
      return runElement();
    const size_t loop = order[depth];
    if (depth + 1 == order.size() && (contracts || row))
      return runInnermost(loop);
    for (int64_t i = 0; i < ranges[loop]; ++i) {
      if (!node.counters.empty())
        frame.slots[node.counters[loop]].i = i;
      runLoop(depth + 1);
      for (size_t c = 0; c < cursors.size(); ++c)
        cursors[c] += stride(c, loop);
    }
    for (size_t c = 0; c < cursors.size(); ++c)
      cursors[c] -= ranges[loop] * stride(c, loop);
  }

  const GenericNode &node;
  Frame &frame;
  const size_t numLoops;
  llvm::SmallVector<int64_t, 6> ranges;
  llvm::SmallVector<size_t, 6> order; // loops, the innermost last
  llvm::SmallVector<Slot *, 6> cursors;
  llvm::SmallVector<int64_t, 36> strides; // by cursor, then by loop
  bool contracts = false;          // the innermost loop runs in one piece
  std::optional<RowBody::Row> row; // the innermost loop runs in rows
  int64_t mostOfRow = 1;
};
} // namespace

/// An op on single elements, of which a window has many.
static void runElement(const GenericNode &node, Frame &frame) {
  auto elementOf = [&](const GenericNode::Operand &operand) {
    const View &view = frame.views[operand.view];
    Slot *element = view.data;
    for (size_t dim = 0; dim < operand.constants.size(); ++dim)
      element += operand.constants[dim] * view.strides[dim];
    return element;
  };
  for (const GenericNode::Operand &operand : node.operands)
    if (operand.isRead)
      frame.slots[operand.argument] = *elementOf(operand);
  execute(node.body, frame);
  for (const GenericNode::Operand &operand : node.operands)
    if (operand.isWritten)
      *elementOf(operand) = frame.slots[operand.yield];
}

void GenericNode::run(Frame &frame) const {
  if (rangeOperands.empty())
    return runElement(*this, frame);
  GenericRun(*this, frame).run();
}

} // namespace zc::interpreter
