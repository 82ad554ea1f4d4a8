//===- HoistGathers.cpp - --zc-hoist-gathers ------------------------------===//
//
// Parameters change at a step's end alone, so that a unit which stays gathered
// has the bits that each micro-batch would gather anew. Runs after fusion,
// where a gather is one op, and before memory planning, which sees a state.
//
//===----------------------------------------------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/Gathered.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "dialects/Train/Versions.h"
#include "passes/Analysis/ProgramParts.h"
#include "passes/Analysis/Views.h"
#include "passes/Pipeline/Passes.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

#include <map>
#include <set>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_HOISTGATHERSPASS
#include "passes/Pipeline/Passes.h.inc"

namespace {

struct HoistGathers : public impl::HoistGathersPassBase<HoistGathers> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (getReshardEvery(module) == 0)
      return;
    micro = module.lookupSymbol<func::FuncOp>(kMicroProgram);
    if (!micro) {
      module.emitError("expected @micro, from --zc-accumulate-gradients");
      return signalPassFailure();
    }
    if (getReshardEvery(module) > 1)
      findGathers();
    if (units.empty())
      module->removeAttr(kReshardEveryAttr);
    for (auto &[state, unit] : units)
      hoist(findState(micro, state), unit);
    eraseUnreadStates();
  }

private:
  struct GatheredUnit {
    SmallVector<FusedOp> gathers; // of equal values
    std::set<int64_t> chunks;     // the role's stages that read it
  };

  /// The state that `op` gathers all of; null for other ops.
  StateOp findGathered(FusedOp op) {
    if (op.getLibrary() != kCollectiveLibrary || op.getInputs().size() != 1 ||
        op.getNumResults() != 1)
      return nullptr;
    auto gathers = op.getBody().getOps<dist::AllGatherOp>();
    if (gathers.empty() || (*gathers.begin()).getTraffic() != dist::kParameters)
      return nullptr;
    StateOp state = findState(op.getInputs()[0]);
    return state && !isUpdated(state) && getDelay(state) == 0 ? state : nullptr;
  }

  /// By the micro-batch itself.
  bool isUpdated(StateOp state) {
    auto symbol = FlatSymbolRefAttr::get(state.getSymNameAttr());
    for (unsigned i = 0; i < micro.getNumResults(); ++i)
      if (micro.getResultAttr(i, kStateAttr) == symbol)
        return true;
    return false;
  }

  /// Adds the chunks of the ops that read the value or a view of it.
  static void addChunks(Value value, const ProgramParts &parts,
                        std::set<int64_t> &chunks) {
    for (Operation *user : value.getUsers())
      if (getViewed(user))
        addChunks(user->getResult(0), parts, chunks);
      else if (!user->hasTrait<OpTrait::IsTerminator>())
        chunks.insert(parts.getParts()[parts.partOf(user)].chunk);
  }

  void findGathers() {
    ProgramParts parts(micro, /*hasBackward=*/true);
    for (FusedOp op : micro.getOps<FusedOp>()) {
      StateOp state = findGathered(op);
      if (!state)
        continue;
      GatheredUnit &unit =
          units[FlatSymbolRefAttr::get(state.getSymNameAttr())];
      addChunks(op.getResult(0), parts, unit.chunks);
      unit.gathers.push_back(op);
    }
  }

  /// The program of a stage's gathers.
  func::FuncOp programOf(int64_t chunk) {
    func::FuncOp &program = programs[chunk];
    if (program)
      return program;
    std::string name = kGatherProgram.str();
    if (countChunks(getOperation()) > 1)
      name += "." + std::to_string(chunk);
    OpBuilder builder(micro);
    program =
        func::FuncOp::create(builder, NameLoc::get(builder.getStringAttr(name)),
                             name, builder.getFunctionType({}, {}));
    builder.setInsertionPointToStart(program.addEntryBlock());
    func::ReturnOp::create(builder, program.getLoc());
    return program;
  }

  void hoist(StateOp state, GatheredUnit &unit) {
    FusedOp first = unit.gathers.front();
    std::string name = ("gathered." + state.getSymName()).str();
    while (getOperation().lookupSymbol(name))
      name += "_";
    StateOp whole = addState(getOperation(), name, first.getType(0), kGathered,
                             state.getLoc());
    // A stage reads all of its units at once, those of other stages, too.
    const int64_t chunk = unit.chunks.empty() ? 0 : *unit.chunks.begin();
    if (getOperation()->hasAttr(kSharesUnitsAttr) && unit.chunks.size() == 1)
      whole.setUnitStage(chunk);
    func::FuncOp program = programOf(chunk);
    IRMapping mapping;
    mapping.map(first.getInputs()[0], getStateArgument(program, state));
    OpBuilder builder(program.getBody().front().getTerminator());
    addResult(program, builder.clone(*first, mapping)->getResult(0),
              bindTo(whole));
    Value read = getStateArgument(micro, whole);
    for (FusedOp gather : unit.gathers) {
      gather.getResult(0).replaceAllUsesWith(read);
      gather.erase();
      ++numHoisted;
    }
  }

  /// The micro-batch knows no more of what is gathered for it.
  void eraseUnreadStates() {
    llvm::BitVector unread(micro.getNumArguments());
    for (BlockArgument argument : micro.getArguments())
      if (auto state = stateOf(argument);
          argument.use_empty() && state && units.contains(state))
        unread.set(argument.getArgNumber());
    (void)micro.eraseArguments(unread);
  }

  func::FuncOp micro;
  llvm::MapVector<Attribute, GatheredUnit> units; // by state
  std::map<int64_t, func::FuncOp> programs;       // by stage
};

} // namespace
} // namespace zc
