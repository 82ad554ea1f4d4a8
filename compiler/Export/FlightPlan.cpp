//===- FlightPlan.cpp - the rings that an order needs ---------------------===//
//
// Orders ask which program uses which ring, and nothing of what it computes.
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/FlightPlan.h"

#include "compiler/Export/RingExport.h"
#include "dialects/Sched/SchedDialect.h"
#include "passes/Analysis/Roles.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {

/// The program's name, and a buffer for each flight state that it uses.
static void addOutline(ProgramOp source, const SymbolTable &symbols,
                       plan::Role &role) {
  plan::Program &program = *role.add_programs();
  program.set_name(source.getSymName().str());
  for (Operation &op : source.getBody().front()) {
    if (!isa<OutputOp, InstructionOpInterface>(op))
      continue;
    for (Value operand : op.getOperands()) {
      auto use = getRoot(operand).getDefiningOp<StateOp>();
      auto state =
          use ? symbols.lookup<train::StateOp>(use.getState()) : nullptr;
      if (!state || state.getKind() != train::kFlight)
        continue;
      plan::Buffer &buffer = *program.add_buffers();
      buffer.set_space(plan::FLIGHT);
      buffer.set_ring(getRingIndex(state));
    }
  }
}

Result<std::vector<RoleFlight>> planFlights(ModuleOp module,
                                            const OrderOptions &options) {
  plan::Manifest manifest;
  manifest.set_accumulate(options.microBatches);
  for (ModuleOp role : getRoles(module)) {
    plan::Role &outline = *manifest.add_roles();
    addRingsAndMessages(role, outline);
    SymbolTable symbols(role);
    for (ProgramOp program : role.getOps<ProgramOp>())
      addOutline(program, symbols, outline);
  }
  numberLines(manifest);
  ZC_RETURN_IF_ERROR(buildOrders(manifest, options));
  std::vector<RoleFlight> flights;
  for (const plan::Role &role : manifest.roles()) {
    RoleFlight &flight = flights.emplace_back();
    flight.bytes = role.flight_bytes();
    for (const plan::Ring &ring : role.rings())
      flight.slots[ring.name()] = ring.slots();
  }
  return flights;
}

} // namespace zc
