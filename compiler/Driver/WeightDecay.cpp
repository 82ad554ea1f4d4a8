#include "compiler/Driver/WeightDecay.h"

#include "dialects/Train/TrainDialect.h"

#include <regex>

using namespace mlir;
using namespace zc;

static bool matches(train::StateOp parameter, const std::regex &expression) {
  auto found = [&](StringRef name) {
    return std::regex_search(name.str(), expression);
  };
  if (found(parameter.getSymName()))
    return true;
  return parameter.getAliases() &&
         llvm::any_of(parameter.getAliases()->getAsValueRange<StringAttr>(),
                      found);
}

LogicalResult zc::exemptFromDecay(ModuleOp module,
                                  const std::string &expression) {
  if (expression.empty())
    return success();
  std::regex compiled(expression);
  bool any = false;
  for (auto state : module.getOps<train::StateOp>())
    if (state.getKind() == train::kParameter && matches(state, compiled)) {
      state.setDecay(false);
      any = true;
    }
  if (any)
    return success();
  return emitError(UnknownLoc::get(module.getContext()))
         << "--no-weight-decay '" << expression
         << "' matches the name of no parameter";
}
