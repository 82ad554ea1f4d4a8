//===- KernelTable.h - equal kernels once -----------------------*- C++ -*-===//
#ifndef ZC_PASSES_SCHEDULING_KERNELTABLE_H
#define ZC_PASSES_SCHEDULING_KERNELTABLE_H

#include "dialects/Sched/SchedDialect.h"

#include <unordered_map>

namespace zc {

/// Prefix of the names of the module's kernels, as the roles of a pipeline
/// share a code object: "role1_"; empty without roles.
std::string getKernelPrefix(mlir::ModuleOp module);

/// The kernels of a module, by what they compute.
class KernelTable {
public:
  explicit KernelTable(mlir::ModuleOp module);

  /// The kernel that computes the body of `op` with these pairs (input, output)
  /// sharing memory; made if there is none yet.
  sched::KernelOp get(train::FusedOp op, llvm::ArrayRef<int64_t> shared);

  unsigned size() const { return byHash.size(); }

private:
  std::string prefix; // of names
  mlir::SymbolTable symbols;
  std::unordered_multimap<size_t, sched::KernelOp> byHash;
};

} // namespace zc

#endif // ZC_PASSES_SCHEDULING_KERNELTABLE_H
