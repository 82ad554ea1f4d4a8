//===- Turns.h - ranks that run programs together ---------------*- C++ -*-===//
//
// Simulated ranks take turns. An op runs once its operands are there: one that
// reads a message waits until the rank of the other role with the same other
// coordinates has computed it, as the backward does that stands in front of the
// end of the forward. A collective waits for its group, which may be ranks of
// several roles: the n-th of one is the n-th of the other.
//
//===----------------------------------------------------------------------===//
#ifndef ZC_COMPILER_INTERPRETER_TURNS_H
#define ZC_COMPILER_INTERPRETER_TURNS_H

#include "compiler/Interpreter/Environment.h"
#include "dialects/Dist/Axes.h"
#include "dialects/Dist/DistDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <map>
#include <set>

namespace zc::interpreter {

using dist::kRoleAxis;

/// The role of a rank among the roles that run `programs`: 0 if it is one.
int64_t roleOf(int64_t rank, size_t programs, dist::MeshAttr mesh);

/// One run of a program of each role (of one, if there are no roles) on all
/// ranks of a mesh.
class Turns {
public:
  using RunOp =
      llvm::function_ref<mlir::LogicalResult(mlir::Operation &, Environment &)>;

  /// `environments`: of each rank, with the arguments that are no messages;
  /// gets the other values.
  Turns(llvm::ArrayRef<mlir::func::FuncOp> programs, dist::MeshAttr mesh,
        llvm::MutableArrayRef<Environment> environments, RunOp runOp);

  /// Fails, with a diagnostic, where the ends of a message do not fit, and
  /// where nobody can go on.
  mlir::LogicalResult run();

private:
  struct Rank {
    mlir::func::FuncOp program;
    Environment &environment;
    int64_t role;
    /// How many operands each op of the program still misses, by its number;
    /// kDone: it has run.
    std::vector<unsigned> missing;
    size_t left; // ops that have not run
    /// The ops that miss none, by their numbers; collectives wait for others.
    std::set<size_t> ready;
    std::map<size_t, mlir::Operation *> collectives;
  };
  static constexpr unsigned kDone = ~0u;
  /// A role and its argument that a message becomes.
  using Target = std::pair<int64_t, mlir::Value>;
  /// A program's collectives by their axes and holders, in its order.
  using Collectives =
      llvm::DenseMap<mlir::Attribute, llvm::SmallVector<mlir::Operation *>>;

  mlir::LogicalResult connect();
  mlir::LogicalResult connectResult(int64_t role, unsigned index);
  mlir::LogicalResult checkReceived(int64_t role, unsigned index);
  void findCollectives();
  void prepare(Rank &rank);
  /// The op has run; what nobody will read any more is forgotten.
  void setDone(Rank &rank, size_t number);
  bool isRead(const Rank &rank, mlir::Value value) const;
  /// A value of the rank's environment is known from now on.
  void know(int64_t rank, mlir::Value value);
  void deliver(int64_t rank, mlir::Value value);
  mlir::FailureOr<bool> runAlone(int64_t rank);
  llvm::SmallVector<int64_t> findGroup(int64_t rank,
                                       dist::CollectiveOpInterface op) const;
  mlir::Operation *findPartner(dist::CollectiveOpInterface op,
                               const Rank &rank) const;
  bool isReady(const Rank &rank, mlir::Operation *op) const;
  mlir::FailureOr<bool> meet(int64_t rank);
  mlir::LogicalResult exchangeAmong(llvm::ArrayRef<int64_t> group,
                                    dist::CollectiveOpInterface op);
  mlir::LogicalResult reportWaiting() const;
  std::string describeWait(int64_t rank) const;

  llvm::ArrayRef<mlir::func::FuncOp> programs;
  dist::MeshAttr mesh;
  std::vector<Rank> ranks;
  RunOp runOp;
  llvm::DenseMap<mlir::Value, llvm::SmallVector<Target, 1>> targets;
  std::vector<Collectives> collectives;              // by role
  llvm::DenseMap<mlir::Operation *, size_t> places;  // in those lists
  llvm::DenseMap<mlir::Operation *, size_t> numbers; // in their programs
  std::vector<std::vector<mlir::Operation *>> ops;   // by role and number
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_TURNS_H
