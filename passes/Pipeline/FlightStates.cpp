//===- FlightStates.cpp - what a micro-batch keeps ------------------------===//
#include "passes/Pipeline/FlightStates.h"
#include "dialects/Train/Tokens.h"

#include "dialects/Train/ProgramBuilder.h"

using namespace mlir;
using namespace zc::train;

namespace zc {

StateOp FlightStates::add(Value value) {
  std::string name;
  unsigned number = flights.size();
  do
    name = "flight." + std::to_string(number++);
  while (role.lookupSymbol(name));
  flights.push_back(
      {addState(role, name, value.getType(), kFlight, value.getLoc())});
  return flights.back().state;
}

StateOp FlightStates::receive(func::FuncOp program, unsigned argument,
                              const MessageEnd &end) {
  StateOp state = add(program.getArgument(argument));
  addMessage(state, end, /*sends=*/false);
  program.setArgAttr(argument, kStateAttr,
                     FlatSymbolRefAttr::get(state.getSymNameAttr()));
  for (StringRef name : {kReceiveAttr, kBatchDimAttr, kTokenDimAttr})
    program.removeArgAttr(argument,
                          StringAttr::get(program.getContext(), name));
  return state;
}

void FlightStates::send(StateOp state, const MessageEnd &end) {
  addMessage(state, end, /*sends=*/true);
}

void FlightStates::addMessage(StateOp state, const MessageEnd &end,
                              bool sends) {
  auto flight = llvm::find_if(
      flights, [&](const Flight &each) { return each.state == state; });
  flight->isMessage = true;
  flight->isSent = sends;
  flight->isGradient = end.isGradient;
  Builder builder(state.getContext());
  NamedAttrList list(end.toAttr(builder.getContext()));
  if (sends)
    list.set(kSendsKey, builder.getUnitAttr());
  SmallVector<Attribute> all;
  if (ArrayAttr old = state.getMessagesAttr())
    llvm::append_range(all, old);
  all.push_back(list.getDictionary(builder.getContext()));
  state.setMessagesAttr(builder.getArrayAttr(all));
}

void setRing(StateOp state, const Twine &ring) {
  state.setRingAttr(StringAttr::get(state.getContext(), ring));
}

} // namespace zc
