//===- SplitServer.cpp - --zc-split-server --------------------------------===//
#include "dialects/Dist/DistDialect.h"
#include "dialects/Dist/Server.h"
#include "dialects/Train/ProgramBuilder.h"
#include "dialects/Train/StateLookup.h"
#include "passes/Analysis/Views.h"
#include "passes/Scheduling/Passes.h"
#include "passes/Scheduling/TrainProgram.h"

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_SPLITSERVERPASS
#include "passes/Scheduling/Passes.h.inc"

namespace {

/// The broadcast of what the server has computed that `region` is; or null.
dist::BroadcastOp getServed(FusedOp region) {
  if (!isCollective(region))
    return {};
  auto sent = dyn_cast<dist::BroadcastOp>(region.getBody().front().front());
  return sent && sent.getOfServer() ? sent : dist::BroadcastOp();
}

/// A region of its own that makes zeros.
Value makeZeros(OpBuilder &builder, Location loc, RankedTensorType type) {
  auto region = FusedOp::create(builder, loc, TypeRange{type}, ValueRange{});
  Block &block = region.getBody().emplaceBlock();
  OpBuilder inner = OpBuilder::atBlockEnd(&block);
  auto zeros = ConstantOp::create(
      inner, loc,
      DenseElementsAttr::get(type, builder.getZeroAttr(type.getElementType())));
  YieldOp::create(inner, loc, ValueRange{zeros});
  return region.getResult(0);
}

/// The part of a program that ranks which are no server have.
class Worker {
public:
  explicit Worker(func::FuncOp program) : program(program) {}

  void run() {
    for (FusedOp region : llvm::to_vector(program.getOps<FusedOp>()))
      if (dist::BroadcastOp sent = getServed(region))
        takeWhatComes(region, sent);
    for (unsigned i = program.getNumResults(); i > 0; --i)
      if (isServers(program.getResultAttr(i - 1, kStateAttr)))
        eraseResult(program, i - 1);
    auto ops =
        llvm::map_to_vector(program.getBody().front().without_terminator(),
                            [](Operation &op) { return &op; });
    for (Operation *op : llvm::reverse(ops))
      if (auto region = dyn_cast<FusedOp>(op);
          op->use_empty() && !(region && isCollective(region)))
        op->erase();
    eraseUnusedArguments(program);
  }

private:
  bool isServers(Attribute symbol) const {
    StateOp state = findState(program, symbol);
    return state && state.getKind() == kOptimizer;
  }

  /// A new value comes over the old one; of a metric there is none.
  void takeWhatComes(FusedOp region, dist::BroadcastOp sent) {
    Value old = sent.getServed() ? findStateArgument(program, *sent.getServed())
                                 : Value();
    Value given = region.getInputs().front();
    if (!old || old.getType() != given.getType()) {
      OpBuilder builder(region);
      old = makeZeros(builder, region.getLoc(),
                      cast<RankedTensorType>(given.getType()));
    }
    region->setOperand(0, old);
  }

  func::FuncOp program;
};

struct SplitServer : public impl::SplitServerPassBase<SplitServer> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    if (!module->hasAttr(dist::kServerAttr))
      return;
    auto whole = llvm::map_to_vector(*module.getBody(),
                                     [](Operation &op) { return &op; });
    addRole(whole, 0); // the server does all
    ModuleOp workers = addRole(whole, 1);
    for (auto program : workers.getOps<func::FuncOp>())
      Worker(program).run();
    dropStates(workers);
    for (Operation *op : llvm::reverse(whole))
      op->erase();
  }

private:
  ModuleOp addRole(ArrayRef<Operation *> ops, int64_t number) {
    OpBuilder builder = OpBuilder::atBlockEnd(getOperation().getBody());
    auto role = ModuleOp::create(builder, getOperation().getLoc(),
                                 "role" + std::to_string(number));
    for (NamedAttribute attribute : getOperation()->getDiscardableAttrs())
      if (attribute.getName() != dist::kServerAttr)
        role->setAttr(attribute.getName(), attribute.getValue());
    role->setAttr(kRoleAttr, builder.getI64IntegerAttr(number));
    builder.setInsertionPointToEnd(role.getBody());
    for (Operation *op : ops)
      builder.clone(*op);
    return role;
  }

  /// Programs without results, and the optimizer's states, which no program of
  /// workers has any more.
  static void dropStates(ModuleOp workers) {
    for (auto program : llvm::to_vector(workers.getOps<func::FuncOp>()))
      if (program.getNumResults() == 0)
        program.erase();
    for (auto state : llvm::to_vector(workers.getOps<StateOp>()))
      if (state.getKind() == kOptimizer)
        state.erase();
  }
};

} // namespace
} // namespace zc
