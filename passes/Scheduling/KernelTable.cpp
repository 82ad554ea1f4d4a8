//===- KernelTable.cpp - equal kernels once -------------------------------===//
#include "passes/Scheduling/KernelTable.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "llvm/ADT/Hashing.h"

using namespace mlir;
using namespace zc::sched;

namespace zc {

// Equal bodies have equal hashes; operands count by where they are defined.
static size_t hashBody(Region &body, ArrayRef<int64_t> shared) {
  llvm::DenseMap<Value, unsigned> numbers;
  auto number = [&](ValueRange values) {
    for (Value value : values)
      numbers.try_emplace(value, numbers.size());
  };
  llvm::hash_code hash = llvm::hash_combine_range(shared.begin(), shared.end());
  number(body.getArguments());
  for (Operation &op : body.front()) {
    hash = llvm::hash_combine(
        hash, OperationEquivalence::computeHash(
                  &op, [&](Value operand) { return numbers.lookup(operand); },
                  OperationEquivalence::ignoreHashValue,
                  OperationEquivalence::IgnoreLocations));
    number(op.getResults());
  }
  return hash;
}

std::string getKernelPrefix(ModuleOp module) {
  auto role = module->getAttrOfType<IntegerAttr>(train::kRoleAttr);
  return role ? "role" + std::to_string(role.getInt()) + "_" : "";
}

KernelTable::KernelTable(ModuleOp module)
    : prefix(getKernelPrefix(module)), symbols(module) {}

KernelOp KernelTable::get(train::FusedOp op, ArrayRef<int64_t> shared) {
  size_t hash = hashBody(op.getBody(), shared);
  auto [first, last] = byHash.equal_range(hash);
  for (auto candidate = first; candidate != last; ++candidate) {
    KernelOp kernel = candidate->second;
    if (kernel.getShared() == shared &&
        OperationEquivalence::isRegionEquivalentTo(
            &kernel.getBody(), &op.getBody(),
            OperationEquivalence::IgnoreLocations))
      return kernel;
  }
  OpBuilder builder(op.getContext());
  OperationState state(op.getLoc(), KernelOp::getOperationName());
  auto &properties = state.getOrAddProperties<KernelOp::Properties>();
  properties.sym_name =
      builder.getStringAttr(prefix + "kernel_" + std::to_string(byHash.size()));
  properties.shared = builder.getDenseI64ArrayAttr(shared);
  state.addRegion();
  auto kernel = cast<KernelOp>(Operation::create(state));
  IRMapping mapping;
  op.getBody().cloneInto(&kernel.getBody(), mapping);
  symbols.insert(kernel);
  byHash.emplace(hash, kernel);
  return kernel;
}

} // namespace zc
