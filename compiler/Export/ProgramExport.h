//===- ProgramExport.h - one program as plan messages -----------*- C++ -*-===//
#ifndef ZC_COMPILER_EXPORT_PROGRAMEXPORT_H
#define ZC_COMPILER_EXPORT_PROGRAMEXPORT_H

#include "compiler/Export/RingExport.h"
#include "dialects/Sched/SchedDialect.h"
#include "runtime/Base/Status.h"
#include "runtime/Plan/Manifest.pb.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/MapVector.h"

#include <optional>

namespace zc {

/// Writes a `sched.program` whose offsets and kernels are final as a message.
class ProgramExport {
public:
  /// `needsCode`: kernels must have been lowered; if not, their grids are 1.
  ProgramExport(sched::ProgramOp source, mlir::SymbolTable &symbols,
                bool needsCode = true)
      : source(source), symbols(symbols), needsCode(needsCode) {}

  Result<plan::Program> run();

  /// The index of a buffer in the program being written.
  uint32_t getIndex(mlir::Value buffer) const { return indices.lookup(buffer); }

private:
  void addBuffers();
  void addBuffer(mlir::Value value);
  void placeBuffer(mlir::Value root, plan::Buffer &buffer);
  void placeInRing(train::StateOp state, plan::Buffer &buffer);
  void setLiveRanges();
  void extend(mlir::Value buffer, uint32_t instruction);
  void addInput(sched::InputOp op);
  void addOutput(sched::OutputOp op);
  Status addInstruction(mlir::Operation &op);
  void setStream(mlir::Operation &op, plan::Instruction &instruction);
  void addHostWaits(mlir::Operation &op, plan::Instruction &instruction) const;
  void addCollective(sched::CollectiveOp op, plan::Instruction &instruction);
  Status addKernelCall(sched::LaunchOp op, plan::Instruction &instruction);

  sched::ProgramOp source;
  mlir::SymbolTable &symbols;
  const bool needsCode;
  plan::Program program;
  llvm::DenseMap<mlir::Value, uint32_t> indices;
  llvm::DenseSet<mlir::Value> written;
  sched::UnderWay underWay;
  llvm::DenseMap<mlir::Operation *, uint32_t> numbers; // of instructions
  std::optional<uint32_t> lastOnMain; // the main stream's latest instruction
  /// By two streams: the next instruction on the one waits for that one on the
  /// other.
  std::optional<uint32_t> awaited[sched::kNumStreams][sched::kNumStreams];
};

} // namespace zc

#endif // ZC_COMPILER_EXPORT_PROGRAMEXPORT_H
