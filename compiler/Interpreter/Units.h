//===- Units.h - ZeRO's vectors as the parameters they hold -----*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_UNITS_H
#define ZC_COMPILER_INTERPRETER_UNITS_H

#include "compiler/Interpreter/Roles.h"

#include <optional>

namespace zc::interpreter {

/// Where the parameters of a module are in its units, or those of each role in
/// the role's. A unit is one tensor of [shares x length] elements: a share is
/// what a rank along the axes that divide its members (tp) holds of them.
class Units {
public:
  explicit Units(mlir::ModuleOp module);

  /// Replaces parameters, their moments and their accumulators by the units'.
  /// Members that are not given are 0.
  void pack(llvm::StringMap<Tensor> &values) const;

  /// The inverse, on results. Fails, with `error`, where two roles hold other
  /// values of one parameter.
  mlir::LogicalResult unpack(NamedTensors &values, std::string &error) const;

private:
  struct Member {
    mlir::Operation *state; // train.state in the module of units
    int64_t offset;         // of its elements in each share
  };
  struct Unit {
    std::string prefix; // "role1." in a pipeline
    std::string name;
    int64_t numElements;
    dist::MeshAttr mesh; // null: one rank
    std::vector<Member> members;
  };

  void addModule(mlir::ModuleOp module, const std::string &prefix);
  static llvm::SmallVector<int64_t> ranksOfShares(const Unit &unit);
  static llvm::StringRef nameOf(const Member &member);
  /// The unit's vector of those members that are given, or of an optimizer's
  /// slot of theirs; nothing if none is.
  static std::optional<Tensor> pack(const Unit &unit, llvm::StringRef slot,
                                    const llvm::StringMap<Tensor> &values);
  static Tensor join(const Unit &unit, const Member &member,
                     const Tensor &vector);

  std::vector<Unit> units;
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_UNITS_H
