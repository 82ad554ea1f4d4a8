//===- MarkTokens.cpp - --zc-mark-tokens ----------------------------------===//
//
// Whether a model's tokens can be divided is asked of all of it: a stage of a
// pipeline alone does not know.
//
//===----------------------------------------------------------------------===//
#include "dialects/Train/Tokens.h"
#include "passes/Sequence/Passes.h"
#include "passes/Sequence/TokenDims.h"
#include "passes/Sequence/TokenInputs.h"
#include "passes/Sequence/TokenMixing.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringMap.h"

#include <deque>
#include <set>

using namespace mlir;
using namespace zc::train;

namespace zc {
#define GEN_PASS_DEF_MARKTOKENSPASS
#include "passes/Sequence/Passes.h.inc"

namespace {

/// The findings in all programs together.
struct Findings {
  std::set<std::string> inputs;
  std::set<std::string> kept; // inputs with tokens that stay whole
  bool divided = false, hasAttention = false, dividesAttention = false;
  bool dividesKeys = false;        // of any attention
  Operation *hasAllKeys = nullptr; // of divided queries, on every rank
};

std::string list(const std::set<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "'" : ", '") + name + "'";
  return text.empty() ? "none" : text;
}

struct MarkTokens : public impl::MarkTokensPassBase<MarkTokens> {
  using MarkTokensPassBase::MarkTokensPassBase;

  void runOnOperation() override {
    if (parts < 2)
      return;
    given = readTokenDims(dims);
    Findings findings;
    std::deque<TokenDims> all; // of each program
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (failed(visit(program, all.emplace_back(program), findings)))
        return signalPassFailure();
    for (const std::string &dim : dims)
      if (!findings.inputs.count(StringRef(dim).rsplit('=').first.str())) {
        getOperation().emitError("--token-dim ")
            << dim << ": no input has that name; there are "
            << list(findings.inputs);
        return signalPassFailure();
      }
    if (failed(checkSomethingIsDivided(findings)))
      return signalPassFailure();
    auto tokens = all.begin();
    for (auto program : getOperation().getOps<func::FuncOp>())
      if (failed(refuseHiddenMixing(program, *tokens++)))
        return signalPassFailure();
  }

private:
  LogicalResult visit(func::FuncOp program, TokenDims &tokens,
                      Findings &findings) {
    findings.hasAttention |= tokens.hasAttention();
    tokens.markAttention();
    if (failed(forEachTokenInput(
            program, [&](BlockArgument argument, StringRef name) {
              findings.inputs.insert(name.str());
              auto found = given.find(name);
              return found == given.end()
                         ? success()
                         : mark(program, tokens, argument, found->second);
            })))
      return failure();
    findKeys(program, tokens, findings);
    return forEachTokenInput(
        program, [&](BlockArgument argument, StringRef name) {
          std::optional<int64_t> dim = tokens.findInputDim(argument);
          const bool isKept =
              bool(program.getArgAttr(argument.getArgNumber(), kNoTokensAttr));
          findings.divided |= dim && !isKept;
          findings.dividesAttention |=
              dim && !isKept && tokens.isOfAttention({argument, *dim});
          if (dim && isKept)
            findings.kept.insert(name.str());
          return success();
        });
  }

  void findKeys(func::FuncOp program, TokenDims &tokens, Findings &findings) {
    findings.dividesKeys |= !tokens.getUnfused().get().empty();
    program.walk([&](Operation *op) {
      if (!isAttention(op) || !tokens.isOfInput({op->getOperand(0), kTokens}))
        return;
      DimOf keys{op->getOperand(1), kTokens};
      if (hasKeysOfQueries(op) ||
          (countTokens(keys.value) % parts == 0 && tokens.isOfInput(keys)))
        findings.dividesKeys = true;
      else
        findings.hasAllKeys = op;
    });
  }

  /// A given dim tells of dims that depend on it, too.
  LogicalResult mark(func::FuncOp program, TokenDims &tokens,
                     BlockArgument argument, int64_t dim) {
    if (dim < 0) {
      program.setArgAttr(argument.getArgNumber(), kNoTokensAttr,
                         UnitAttr::get(&getContext()));
      return success();
    }
    tokens.mark({argument, dim});
    return setTokenDim(argument, dim, {axis, parts});
  }

  /// An error for each node that makes tokens of an input that nobody says to
  /// be whole: that every rank computes all of it is for the user to say.
  LogicalResult refuseHiddenMixing(func::FuncOp program, TokenDims &tokens) {
    tokens.markMessages(); // what the user says
    bool found = false;
    for (const TokenMixing &each : findHiddenMixing(program, tokens)) {
      const std::string inputs = findWholeInputs(each.use->get(), tokens);
      if (inputs.empty())
        continue;
      refuseMixing(each, tokens, {axis, parts}, inputs);
      found = true;
    }
    return success(!found);
  }

  /// "--token-dim INPUT=none" for each input that a value is made of, has no
  /// tokens, and is not said to have none.
  static std::string findWholeInputs(Value value, TokenDims &tokens) {
    std::string names;
    llvm::SetVector<Value> read;
    read.insert(value);
    for (size_t next = 0; next < read.size(); ++next) { // it grows
      if (Operation *op = read[next].getDefiningOp()) {
        read.insert(op->operand_begin(), op->operand_end());
        continue;
      }
      auto argument = cast<BlockArgument>(read[next]);
      auto program = cast<func::FuncOp>(argument.getOwner()->getParentOp());
      const unsigned index = argument.getArgNumber();
      auto name = program.getArgAttrOfType<StringAttr>(index, kInputAttr);
      if (name && !program.getArgAttr(index, kNoTokensAttr) &&
          !tokens.findInputDim(argument))
        names += (names.empty() ? "--token-dim " : " --token-dim ") +
                 name.str() + "=none";
    }
    return names;
  }

  LogicalResult checkSomethingIsDivided(const Findings &findings) {
    if (findings.divided && findings.hasAllKeys && !findings.dividesKeys &&
        StringRef(attention).starts_with("ring"))
      return findings.hasAllKeys->emitError("--sp-attention ")
             << attention
             << " has nothing to hand on: every rank has all keys of this "
                "attention, which no input's tokens of '"
             << axis
             << "' are, and the model has no other; --sp-attention gather or "
                "auto divides its queries";
    if (findings.divided && (attention == "auto" || findings.dividesAttention))
      return success();
    if (findings.divided)
      return getOperation().emitError("--sp-attention ")
             << attention
             << " has nothing to divide: no attention reads the tokens that "
                "--token-dim names (a softmax of queries' products with keys, "
                "by which values are multiplied); with auto, what mixes them "
                "gathers them";
    auto error = getOperation().emitError();
    if (!findings.kept.empty())
      return error << "--token-dim keeps whole all inputs that count tokens, "
                   << list(findings.kept) << ", so that '" << axis
                   << "' has nothing to divide; leave it at 1, or leave out "
                      "--token-dim for those that it is to divide";
    if (findings.hasAttention)
      return error << "no input counts the tokens of attention: the model "
                      "makes them itself (as a convolution makes patches of "
                      "images), so that '"
                   << axis
                   << "' has nothing to divide; leave it at 1: dp and tp "
                      "divide such a model";
    return error << "no attention tells which dims count tokens, so that '"
                 << axis
                 << "' has nothing to divide; say where they are with "
                    "--token-dim INPUT=K; inputs are "
                 << list(findings.inputs);
  }

  llvm::StringMap<int64_t> given; // --token-dim
};

} // namespace
} // namespace zc
