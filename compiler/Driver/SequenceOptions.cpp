#include "compiler/Driver/SequenceOptions.h"

#include "compiler/Driver/Commands.h"
#include "dialects/Train/Tokens.h"
#include "runtime/Plan/Axes.h"

#include <set>

using namespace zc;

static std::string checkTokenDim(const std::string &text) {
  auto [name, value] = llvm::StringRef(text).rsplit('=');
  int64_t dim;
  bool sound = !name.empty() &&
               (value == "none" || (!value.getAsInteger(10, dim) && dim >= 0));
  return sound ? "" : "expected INPUT=K or INPUT=none, found '" + text + "'";
}

void zc::addSequenceOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--sequence-parallel", options.sequenceParallel,
                  "Megatron's sequence parallelism: between the layers that tp "
                  "shards, ranks of tp divide the tokens, and save a shard of "
                  "the activations; on: also of the operands of matmuls, which "
                  "the backward gathers again; on=kept: those are saved whole, "
                  "and ranks send as many bytes as without; auto: off; where a "
                  "--memory-budget is too small for that, on=kept, then on")
      ->check(CLI::IsMember({"auto", "on", "on=kept", "off"}));
  command
      .add_option("--sp-attention", options.spAttention,
                  "how attention works where sp divides the tokens: ulysses "
                  "divides its heads instead; ring hands keys and values round "
                  "the ranks of sp (zigzag: an early and a late chunk of the "
                  "tokens each, so that a causal mask leaves all equally much; "
                  "contiguous: in order), gather gathers them; auto: ulysses "
                  "or ring, for which ranks wait less by the target's rates, "
                  "or gather where a mask is of queries and keys. Where "
                  "dropout or a learned bias changes scores: ulysses or "
                  "gather")
      ->check(CLI::IsMember({"auto", "ulysses", "gather", "ring", "ring=zigzag",
                             "ring=contiguous"}));
  command
      .add_option("--token-dim", options.tokenDims,
                  "where the tokens are that sp divides; by default the dims "
                  "that belong to an attention's queries; none: every rank "
                  "has the input whole")
      ->check(checkTokenDim)
      ->allow_extra_args(false)
      ->type_name("INPUT=K|none")
      ->default_str("");
}

std::string zc::checkSequenceTogether(const CompileOptions &options) {
  std::set<std::string> inputs;
  for (const std::string &dim : options.tokenDims)
    if (auto name = llvm::StringRef(dim).rsplit('=').first.str();
        !inputs.insert(name).second)
      return "--token-dim says twice where the tokens of '" + name +
             "' are; say it once";
  if (options.getAxisSize(axes::kToken) > 1 &&
      options.optimizer == "onebit-adam")
    return "--optimizer onebit-adam compresses what samples' ranks send; it "
           "does not work with a --mesh with sp";
  return "";
}

bool zc::asksForResiduals(const CompileOptions &options) {
  return llvm::StringRef(options.sequenceParallel).starts_with("on");
}

llvm::FailureOr<int64_t> zc::countResiduals(mlir::ModuleOp module,
                                            const CompileOptions &options) {
  int64_t count = 0;
  module.walk([&](mlir::ModuleOp each) {
    if (auto found = each->removeAttr(kDividedResidualsAttr))
      count += llvm::cast<mlir::IntegerAttr>(found).getInt();
  });
  if (asksForResiduals(options) && count == 0)
    return module.emitError(
        "--sequence-parallel on has nothing to divide: no residual, to which "
        "branches are added between layers, counts the tokens of an attention");
  return count;
}

std::optional<PassOptions::Tokens>
zc::getTokenOptions(const CompileOptions &options) {
  const int64_t parts = options.getAxisSize(axes::kToken);
  if (parts == 1)
    return std::nullopt;
  PassOptions::Tokens tokens;
  tokens.halos.parts = tokens.marks.parts = parts;
  tokens.order.parts = tokens.find.parts = parts;
  llvm::append_range(tokens.halos.dims, options.tokenDims);
  llvm::append_range(tokens.marks.dims, options.tokenDims);
  tokens.order.byHand = !options.tokenDims.empty();
  tokens.order.headParts = tokens.find.headParts =
      options.getAxisSize(axes::kTensor);
  tokens.marks.attention = tokens.order.attention = options.spAttention;
  tokens.find.attention = options.spAttention;
  return tokens;
}
