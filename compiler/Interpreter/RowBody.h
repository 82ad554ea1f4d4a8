//===- RowBody.h - a body that is run for many elements at once -*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_ROWBODY_H
#define ZC_COMPILER_INTERPRETER_ROWBODY_H

#include "compiler/Interpreter/Machine.h"

#include "llvm/ADT/DenseMap.h"

namespace zc::interpreter {

/// The body of a linalg op, of which each operation is done for a row of
/// elements before the next one is looked at. Every slot has a lane there: one
/// value for each element.
class RowBody {
public:
  /// `given`: the slots whose lanes the caller fills; `yielded`: those that it
  /// reads. Slots that the body reads, but nobody writes, have one value for
  /// all elements.
  void set(const Code &body, llvm::ArrayRef<uint32_t> given,
           llvm::ArrayRef<uint32_t> yielded);

  /// False: the body has loops or views of its own, or there is none.
  bool canRun() const { return isSet; }

  /// The lane of a slot that is given or yielded, or that the body has.
  uint32_t laneOf(uint32_t slot) const { return lanes.at(slot); }

  /// Where the lanes of rows lie, of `most` elements each.
  class Row {
  public:
    Row(const RowBody &body, const Frame &frame, int64_t most);
    /// A lane that is given may be moved to where its values lie already.
    Slot *&operator[](uint32_t lane) { return places[lane]; }
    Slot *ownPlace(uint32_t lane) { return values.get() + lane * most; }
    void run(int64_t count);

  private:
    const RowBody &body;
    int64_t most;
    std::unique_ptr<Slot[]> values;
    llvm::SmallVector<Slot *, 16> places;
  };

private:
  bool isSet = false;
  Code code; // its operands and results are lanes
  llvm::DenseMap<uint32_t, uint32_t> lanes;
  std::vector<uint32_t> broadcast; // slots of one value
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_ROWBODY_H
