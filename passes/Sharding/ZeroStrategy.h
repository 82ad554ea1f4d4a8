//===- ZeroStrategy.h - how ZeRO divides parameters -------------*- C++ -*-===//
//
// --zc-apply-zero divides states, gradients and perhaps parameters over ranks.
// Two strategies form the units that are divided: vectors of several parameters
// (FlatUnits.cpp), and single parameters along one of their dims
// (DimUnits.cpp). When units are gathered, and what reads them, is the pass's
// (ApplyZero.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef ZC_PASSES_SHARDING_ZEROSTRATEGY_H
#define ZC_PASSES_SHARDING_ZEROSTRATEGY_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/ZeroUnit.h"

#include <memory>
#include <string>

namespace zc {

/// The program and the options of the pass.
struct ZeroSettings {
  mlir::ModuleOp module;
  mlir::func::FuncOp program; // @step
  dist::MeshAttr mesh;
  Axes axes; // of several ranks each, that divide units
  int64_t stage = 1;
  std::string unit; // auto, layer or a number of bytes
  int64_t mostBytes = 0;
  bool late = false, keepsMoments = false;
};

class ZeroStrategy {
public:
  explicit ZeroStrategy(const ZeroSettings &settings) : settings(settings) {}
  virtual ~ZeroStrategy() = default;

  /// Units of the parameters, in their order. Fails with a message where `unit`
  /// is none of its values.
  virtual mlir::FailureOr<llvm::SmallVector<Unit>>
  formUnits(llvm::ArrayRef<Member> parameters) = 0;

  /// Sets `state`, and `copy` where the parameters have copies, of each unit,
  /// and says how they and their moments are divided.
  virtual void placeStates(llvm::MutableArrayRef<Unit> units) = 0;

  /// Makes the gradients those of the units; from stage 2 on, divided ones.
  virtual void placeGradients(llvm::MutableArrayRef<Unit> units) = 0;

  /// How a unit is divided over what divides its members, and over the ranks of
  /// ZeRO where `divided`.
  virtual dist::ShardingAttr shardingOf(Unit &unit, bool divided) = 0;

  /// A member's value of type `type`, of the value of its unit.
  virtual mlir::Value takeMember(mlir::OpBuilder &builder, mlir::Location loc,
                                 mlir::Value whole, Member &member,
                                 mlir::RankedTensorType type) = 0;

  /// Whether programs read the members' own states, where those need not be
  /// gathered; else each read becomes one of the unit's state.
  virtual bool keepsMembers() const = 0;

  /// Called when programs read units.
  virtual void finish(llvm::MutableArrayRef<Unit>) {}

protected:
  ZeroSettings settings;
};

std::unique_ptr<ZeroStrategy> makeFlatUnits(const ZeroSettings &settings);
std::unique_ptr<ZeroStrategy> makeDimUnits(const ZeroSettings &settings);

} // namespace zc

#endif // ZC_PASSES_SHARDING_ZEROSTRATEGY_H
