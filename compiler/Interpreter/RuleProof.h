//===- RuleProof.h - whether sharding rules hold ----------------*- C++ -*-===//
#ifndef ZC_COMPILER_INTERPRETER_RULEPROOF_H
#define ZC_COMPILER_INTERPRETER_RULEPROOF_H

#include "compiler/Interpreter/OpKernel.h"
#include "dialects/Interfaces/ShardingRule.h"

#include <map>
#include <optional>
#include <random>

namespace zc::interpreter {

/// The result of checking a rule.
struct RuleVerdict {
  enum class Outcome {
    Holds,
    Wrong,    // and why
    NotShown, // the op has no form, or its form cannot be run on drawn numbers
  };
  Outcome outcome = Outcome::NotShown;
  std::string why;
};

/// How many operations the interpreter does for an op, about: it does some 5e7
/// a second.
double countOperations(mlir::Operation *op);

/// Proves of sharding rules, against the linalg form of their ops, that parts
/// put together as the rule says are the whole, along every factor, and that
/// the op is linear where the rule says so. It computes with numbers modulo a
/// prime (Field.h), of which two different formulas are equal with a chance of
/// 1e-15 at most: this is a proof for the op's dims, of which small ones stand
/// for all. Rounding has no part in it.
class RuleProver {
public:
  explicit RuleProver(unsigned seed) : random(seed) {}

  /// Proves the op's own rule. Ops of one kind, attributes and rule are proven
  /// once for all sizes that factors run over, and for all images. Null where
  /// it has more than `mostOperations` and few elements stand for none of them;
  /// not shown where they are wrong and all of them would take too long.
  const RuleVerdict *prove(mlir::Operation *op, double mostOperations);

  /// Proves any rule that fits the op. `limits`: for each operand of integers,
  /// the range [low, high) of its elements; those left out get one that is safe
  /// for indices.
  RuleVerdict prove(mlir::Operation *op, const ShardingRule &rule,
                    llvm::ArrayRef<std::pair<int64_t, int64_t>> limits = {});

  /// How many kinds were found to be so.
  int64_t count(RuleVerdict::Outcome outcome) const;

private:
  /// Proves the rule on few elements, where they stand for all, else on the
  /// op's own: where these take more than `mostOperations`, it is not shown, or
  /// where it is wrong of few, more than a second's.
  std::optional<RuleVerdict> proveOnFew(mlir::Operation *op,
                                        const ShardingRule &rule,
                                        double mostOperations);

  std::mt19937_64 random;
  std::map<std::vector<int64_t>, RuleVerdict> verdicts; // by classes
  std::map<std::vector<const void *>, const RuleVerdict *> ofKinds;
};

} // namespace zc::interpreter

#endif // ZC_COMPILER_INTERPRETER_RULEPROOF_H
