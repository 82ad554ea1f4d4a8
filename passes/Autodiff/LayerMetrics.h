//===- LayerMetrics.h - layers' metrics among roles -------------*- C++ -*-===//
#ifndef ZC_PASSES_AUTODIFF_LAYERMETRICS_H
#define ZC_PASSES_AUTODIFF_LAYERMETRICS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <string>

namespace zc {

/// On the module of a role: for each layer of experts the role that has it, the
/// first of those that do so in turn.
inline constexpr llvm::StringLiteral kLayerRolesAttr = "train.layer_roles";

/// The metrics of ExpertMetrics.h, for layers that are in several roles. All
/// roles add up one vector, in which each has a place of its own, and read the
/// table of all layers from it. A role finds its place by its coordinate along
/// `pp`, so that roles of equal layers stay alike and are compiled once.
class LayerMetrics {
public:
  /// Sums over the micro-batches of a role, by the metric's name.
  using Sums = std::map<std::string, mlir::Value>;

  explicit LayerMetrics(mlir::ModuleOp role);

  /// How many elements the vector has; 0 where no layer counts.
  int64_t size() const { return count; }

  /// This role's term of it, of float32, where `builder` is in `program`.
  mlir::Value buildTerm(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::func::FuncOp program, const Sums &own);

  /// Adds the metrics of all layers to `program`, from the roles' `sum`.
  void addResults(mlir::OpBuilder &builder, mlir::func::FuncOp program,
                  mlir::Value sum) const;

private:
  mlir::Value findPlace(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::func::FuncOp program);

  mlir::ModuleOp role;
  llvm::ArrayRef<int64_t> roleOfLayer;
  int64_t experts = 0, roles = 0;
  int64_t most = 0; // layers of a role
  int64_t count = 0;
  bool hasOverflow = false;
};

} // namespace zc

#endif // ZC_PASSES_AUTODIFF_LAYERMETRICS_H
