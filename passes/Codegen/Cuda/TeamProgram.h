//===- TeamProgram.h - a block of ops among a team's threads ----*- C++ -*-===//
#ifndef ZC_PASSES_CODEGEN_CUDA_TEAMPROGRAM_H
#define ZC_PASSES_CODEGEN_CUDA_TEAMPROGRAM_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "passes/Codegen/Cuda/ScatterLoop.h"

namespace zc::cuda {

/// Memory of a type that all threads of the team see, as an ordinary memref
/// that may be used in all of the kernel.
using ShareMemory =
    llvm::function_ref<mlir::Value(mlir::MemRefType type, mlir::Location loc)>;

/// The number of this team among `count` teams that divide a table's rows.
struct RowTeam {
  mlir::Value number;
  int64_t count = 1;
};

/// Lets the threads of a team compute a block together. Barriers stand between
/// its ops, no more than needed: a write waits for what was read and written
/// before it, a read for what was written.
class TeamProgram {
public:
  /// `thread` of `size`; none that computes the block has a higher number.
  TeamProgram(mlir::Value thread, int64_t size, ShareMemory share,
              RowTeam rowTeam = {})
      : thread(thread), size(size), share(share), rowTeam(rowTeam) {}

  /// Converts all ops of the block but its terminator.
  void run(mlir::Block &block);

private:
  void convert(mlir::Operation &op);
  void convertLoop(mlir::scf::ForOp loop);
  void convertBranch(mlir::scf::IfOp branch);
  void divideRows(ScatterLoop scatter);
  void findOwnRows(mlir::scf::ForOp loop, mlir::Value row);
  void updateRow(mlir::OpBuilder &builder, mlir::scf::ForOp loop,
                 mlir::Value place);
  void writeOwnRows(mlir::linalg::LinalgOp nest);
  int64_t countOwners() const;
  mlir::Value ownNumber(mlir::OpBuilder &builder, mlir::Location loc);
  mlir::Value lane(mlir::OpBuilder &builder, mlir::Location loc);
  void distributeAmongTeam(mlir::linalg::LinalgOp nest);
  void separate(mlir::Operation *op, bool reads, bool writes);
  void barrier(mlir::Operation *before);
  void storeOnce(mlir::Operation &op);

  mlir::Value thread;
  int64_t size;
  ShareMemory share;
  RowTeam rowTeam;
  bool read = false, written = false;
};

} // namespace zc::cuda

#endif // ZC_PASSES_CODEGEN_CUDA_TEAMPROGRAM_H
