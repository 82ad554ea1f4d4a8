//===- ParameterDivision.h - how parameters are divided ---------*- C++ -*-===//
//
// --zc-shard-parameters decides in two ways: a user divides parameters by hand,
// and a rule divides others by what that costs. Both write what they decide
// here.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_SHARDING_PARAMETERDIVISION_H
#define ZC_PASSES_SHARDING_PARAMETERDIVISION_H

#include "passes/Sharding/ClassCosts.h"
#include "passes/Sharding/DimClasses.h"
#include "passes/Sharding/HandShardings.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/WholeNotes.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"

#include <optional>

namespace zc {

struct ParameterDivision {
  /// The set of dims that `dim` is in, or null.
  DimClass *findClass(const DimOf &dim);

  /// The state that an argument is bound to, or null: one lookup for each
  /// argument, though every rule asks for all of them.
  train::StateOp stateOf(mlir::BlockArgument argument);

  /// Divides a set of dims over an axis, but for tensors that are divided by
  /// hand.
  void divideAll(const DimClass &dims, int axis,
                 llvm::function_ref<std::string(train::StateOp)> why);

  /// Divides one dim of a state.
  void assign(train::StateOp state, int64_t dim, int axis,
              const std::string &why);

  /// Whether a tensor is divided over the rule's axis already, or by hand.
  bool isDivided(mlir::Value value) const {
    return divided.contains({value, number}) || byHand.contains(value);
  }

  dist::MeshAttr mesh;
  mlir::func::FuncOp program;
  int number = -1; // of the axis that the rule divides over
  std::optional<ClassCosts> costs;
  llvm::SmallVector<DimClass> classes;
  unsigned numDivided = 0; // of the classes

  llvm::DenseSet<mlir::Value> byHand;
  llvm::DenseSet<std::pair<mlir::Value, int>> divided; // and over which axis
  llvm::MapVector<mlir::Operation *, Layout> layouts;  // of states
  WholeNotes whole;
  llvm::SmallVector<std::string> notes;

private:
  llvm::DenseMap<mlir::Value, train::StateOp> states; // of arguments
};

/// Puts zeros behind dims of states that `hands` divide, but not evenly. Fails
/// with a diagnostic where an op would read these zeros.
mlir::LogicalResult padByHand(ParameterDivision &division,
                              llvm::ArrayRef<HandSharding> hands);

/// Divides what `hands` name, and the sets of dims that this leads to. Fails
/// with a diagnostic where they name nothing, or what does not divide.
mlir::LogicalResult divideByHand(ParameterDivision &division,
                                 llvm::ArrayRef<HandSharding> hands);

/// Divides sets of dims of parameters, those first that gain most.
void divideByCost(ParameterDivision &division);

} // namespace zc

#endif // ZC_PASSES_SHARDING_PARAMETERDIVISION_H
