//===- RowBody.cpp - a body that is run for many elements at once ---------===//
#include "compiler/Interpreter/RowBody.h"

#include "llvm/ADT/STLExtras.h"

namespace zc::interpreter {

void RowBody::set(const Code &body, llvm::ArrayRef<uint32_t> given,
                  llvm::ArrayRef<uint32_t> yielded) {
  if (llvm::any_of(body, [](const Instruction &in) {
        return in.opcode == Opcode::Node;
      }))
    return;
  isSet = true;
  code = body;
  auto laneFor = [&](uint32_t slot, bool isGiven) {
    auto [entry, isNew] = lanes.try_emplace(slot, lanes.size());
    if (isNew && !isGiven)
      broadcast.push_back(slot);
    return entry->second;
  };
  for (uint32_t slot : given)
    laneFor(slot, /*isGiven=*/true);
  for (Instruction &in : code) {
    for (uint32_t &operand : in.operands)
      operand = laneFor(operand, /*isGiven=*/false);
    in.result = laneFor(in.result, /*isGiven=*/true);
  }
  for (uint32_t slot : yielded)
    laneFor(slot, /*isGiven=*/false);
}

RowBody::Row::Row(const RowBody &body, const Frame &frame, int64_t most)
    : body(body), most(most), values(new Slot[body.lanes.size() * most]) {
  for (size_t lane = 0; lane < body.lanes.size(); ++lane)
    places.push_back(ownPlace(lane));
  for (uint32_t slot : body.broadcast)
    std::fill_n(ownPlace(body.laneOf(slot)), most, frame.slots[slot]);
}

void RowBody::Row::run(int64_t count) {
  for (const Instruction &in : body.code)
    executeRow(in, places[in.operands[0]], places[in.operands[1]],
               places[in.operands[2]], places[in.result], count);
}

} // namespace zc::interpreter
