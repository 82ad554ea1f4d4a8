//===- Propagation.h - how the ops of one program are divided ---*- C++ -*-===//
#ifndef ZC_PASSES_SHARDING_PROPAGATION_H
#define ZC_PASSES_SHARDING_PROPAGATION_H

#include "dialects/Train/Ops/OpSupport.h"
#include "passes/Sharding/Layout.h"
#include "passes/Sharding/OpLayouts.h"
#include "passes/Sharding/Replacements.h"

#include "mlir/IR/SymbolTable.h"

#include <optional>

namespace zc {

/// Shards one program, with arguments that are sharded already: forwards
/// (PropagateSharding.cpp) and backwards (PropagateBackwards.cpp), until no
/// user wants a value in more parts.
class Propagation {
public:
  Propagation(mlir::func::FuncOp program, mlir::SymbolTable &symbols,
              dist::MeshAttr mesh, bool checksTerms)
      : program(program), block(program.getBody().front()), symbols(symbols),
        mesh(mesh), checksTerms(checksTerms) {}

  /// Writes the shardings of operands and results to the ops. Fails, with a
  /// diagnostic, where a check does.
  mlir::LogicalResult run();

  /// How often all ops were asked, forwards, how they work with what they get.
  int getRounds() const { return rounds; }

private:
  void reduceGradient(mlir::Value value);
  bool isOpenSum(mlir::BlockArgument argument);
  void reduceSumsOnce();
  void reduceGradientsOnce();
  void readTokenAxes();
  void readState(mlir::BlockArgument argument, mlir::Attribute symbol);
  void readArguments();
  void readBatch(unsigned index, const Layout &layout);
  void forwards();
  mlir::Operation *replace(mlir::Operation *op);
  mlir::Operation *reduceResults(mlir::Operation *op, mlir::Operation *next);
  Layout chooseLayout(dist::ReshardOp reshard);
  void gatherTokens(Layout &layout);
  void forward(mlir::Operation *op);
  void checkTerms(mlir::Value value);
  bool isReducedByReaders(mlir::Value value);
  std::optional<Traffic> reducedHere(mlir::Operation *op, mlir::Value result);
  std::optional<FinerForm> findFinerForm(mlir::Operation *op);
  Axes findOpenAxes(mlir::Operation *op);
  WholeOperands findWholeOperands(mlir::Operation *op);
  bool dividesWholeBatch(llvm::ArrayRef<Layout> operands,
                         llvm::ArrayRef<llvm::SmallVector<int>> operandDims);
  llvm::SmallVector<int64_t> countFactorParts(const ShardingRule &rule,
                                              llvm::ArrayRef<Layout> operands,
                                              llvm::ArrayRef<Layout> results);
  FinerForm finerFormFor(mlir::Operation *op, llvm::ArrayRef<Layout> operands,
                         llvm::ArrayRef<Layout> results);
  void bothWays();
  std::optional<FinerForm> backward(mlir::Operation *op);
  bool settleReshards();
  std::optional<Layout> findDemand(mlir::Value value, bool mayDiffer);
  Layout returnedLayout(unsigned index);
  train::StateOp findState(mlir::Attribute symbol);
  Layout stateLayout(mlir::Attribute symbol, mlir::Type type);
  llvm::SmallVector<Layout> operandLayouts(mlir::Operation *op);
  bool makesTerm(mlir::Operation *op);
  OpLayouts plan(mlir::Operation *op, llvm::ArrayRef<Layout> hints);
  OpLayouts planCollective(mlir::Operation *op);
  void write();
  void writeAccumulators();
  void writeArguments();
  void writeOp(mlir::Operation *op);
  void writeResults();

  bool isFree(mlir::Value value) const {
    return train::isZero(value) || openAccumulators.contains(value);
  }

  mlir::func::FuncOp program;
  mlir::Block &block;
  mlir::SymbolTable &symbols;
  dist::MeshAttr mesh;
  llvm::DenseMap<mlir::Value, Layout> layouts;
  Axes batchAxes;       // those that divide samples, of every input
  Axes tokenAxes;       // those that divide tokens
  Axes outputBatchAxes; // the first input's: an output's samples are divided so
  llvm::DenseMap<mlir::Operation *, OpLayouts> plans;
  llvm::DenseMap<mlir::Operation *, Layout> settled; // of reshards
  /// Accumulators whose division follows from what is added to them.
  llvm::DenseSet<mlir::Value> openAccumulators;
  /// As the program was when last seen forwards.
  llvm::DenseSet<mlir::Value> gradientTerms;
  const bool checksTerms; // against terms that are found anew
  bool isStale = false;   // they were others
  int rounds = 0;
};

} // namespace zc

#endif // ZC_PASSES_SHARDING_PROPAGATION_H
