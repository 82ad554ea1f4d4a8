//===- EqualRoles.h - roles that are compiled once --------------*- C++ -*-===//
//
// A deep network's middle roles have the same layers and differ in names alone.
// One of them is compiled; the others are copies of it with their own names,
// sources of weights, and messages.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_PIPELINE_EQUALROLES_H
#define ZC_PASSES_PIPELINE_EQUALROLES_H

#include "passes/Pipeline/NameMap.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <map>
#include <vector>

namespace zc {

/// How a role differs from one whose programs do the same.
struct RoleDifference {
  NameMap names;
  std::map<int64_t, std::pair<int64_t, int64_t>> messages; // by its number: the
                                                           // other's, its peer
};

/// How `other` differs from `role`, both as --zc-split-stages leaves them; none
/// where it does in more than names, messages and stored weights: in shapes,
/// attributes, the order of ops, keys that are drawn by.
std::optional<RoleDifference> compareRoles(mlir::ModuleOp role,
                                           mlir::ModuleOp other);

class EqualRoles {
public:
  /// Takes the roles out of `module`, as --zc-split-stages has left it, that
  /// equal one in front of them.
  void takeOut(mlir::ModuleOp module);

  /// Puts them back, made of what passes up to --zc-assign-offsets have made of
  /// the equal ones.
  void putBack(mlir::ModuleOp module);

  size_t size() const { return taken.size(); }

private:
  struct Taken {
    int64_t like; // the number of the role that it equals
    mlir::OwningOpRef<mlir::ModuleOp> role;
    RoleDifference difference;
  };
  std::vector<Taken> taken;
};

} // namespace zc

#endif // ZC_PASSES_PIPELINE_EQUALROLES_H
