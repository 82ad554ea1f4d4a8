//===- FlightPlan.cpp - the rings that an order needs ---------------------===//
//
// Orders ask which program uses which ring, and nothing of what it computes.
//
//===----------------------------------------------------------------------===//
#include "compiler/Export/FlightPlan.h"

#include "compiler/Export/ExportTypes.h"
#include "compiler/Export/RingExport.h"
#include "compiler/Export/SameNames.h"
#include "dialects/Sched/SchedDialect.h"
#include "dialects/Train/Gathered.h"
#include "dialects/Train/ProgramBuilder.h"
#include "passes/Analysis/ProgramParts.h"
#include "passes/Analysis/Roles.h"
#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/ProgramNames.h"
#include "runtime/Plan/StreamNumbers.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {

// The runtime's names are those of passes.
static_assert(isSame(train::kInitProgram, programs::kInit) &&
              isSame(train::kCopyProgram, programs::kCopy) &&
              isSame(train::kStepProgram, programs::kStep) &&
              isSame(train::kMicroProgram, programs::kMicro) &&
              isSame(train::kForwardProgram, programs::kForward) &&
              isSame(train::kBackwardProgram, programs::kBackward) &&
              isSame(train::kWeightsProgram, programs::kWeights) &&
              isSame(train::kApplyProgram, programs::kApply) &&
              isSame(train::kCompressedProgram, programs::kCompressedApply) &&
              isSame(train::kEvalProgram, programs::kEval) &&
              isSame(train::kGatherProgram, programs::kGather) &&
              isSame(kSettingStatePrefix, kSettingPrefix));

// The manifest's streams are those of instructions.
static_assert(kMainStream == streams::kMain &&
              kCollectiveStream == streams::kCollectives &&
              kFetchStream == streams::kFetches &&
              kHostStream == streams::kHost &&
              kStoreStream == streams::kStores &&
              kNumStreams == streams::kCount);

static void addGathered(train::StateOp state, plan::Role &role) {
  plan::State &outline = *role.add_states();
  outline.set_name(state.getSymName().str());
  outline.set_kind(plan::GATHERED);
  outline.set_offset(*state.getOffset());
  *outline.mutable_type() = getTensorType(state.getTensorType());
}

/// The program's name, and a buffer for each flight state and each gathered one
/// that it uses.
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
      if (!state || (state.getKind() != train::kFlight &&
                     state.getKind() != train::kGathered))
        continue;
      plan::Buffer &buffer = *program.add_buffers();
      buffer.set_name(state.getSymName().str());
      if (state.getKind() == train::kGathered) {
        buffer.set_offset(*state.getOffset());
        *buffer.mutable_type() = getTensorType(state.getTensorType());
        continue;
      }
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
    outline.set_reshard_every(getReshardEvery(role));
    SymbolTable symbols(role);
    for (train::StateOp state : role.getOps<train::StateOp>())
      if (state.getKind() == train::kGathered)
        addGathered(state, outline);
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
