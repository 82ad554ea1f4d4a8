#include "compiler/Driver/ParameterGroups.h"

#include "compiler/Driver/Commands.h"
#include "dialects/Interfaces/NamePattern.h"
#include "dialects/Train/TrainDialect.h"

#include <cmath>

using namespace mlir;
using namespace zc;

static bool matches(train::StateOp parameter, const NamePattern &pattern) {
  auto found = [&](StringRef name) { return pattern.isIn(name); };
  if (found(parameter.getSymName()))
    return true;
  return parameter.getAliases() &&
         llvm::any_of(parameter.getAliases()->getAsValueRange<StringAttr>(),
                      found);
}

static SmallVector<train::StateOp> findParameters(ModuleOp module,
                                                  const std::string &text) {
  // The command line has been checked.
  const NamePattern pattern = llvm::cantFail(NamePattern::parse(text));
  SmallVector<train::StateOp> found;
  for (auto state : module.getOps<train::StateOp>())
    if (state.getKind() == train::kParameter && matches(state, pattern))
      found.push_back(state);
  return found;
}

LogicalResult zc::exemptFromDecay(ModuleOp module,
                                  const std::string &expression) {
  if (expression.empty())
    return success();
  SmallVector<train::StateOp> found = findParameters(module, expression);
  for (train::StateOp state : found)
    state.setDecay(false);
  if (!found.empty())
    return success();
  return emitError(UnknownLoc::get(module.getContext()))
         << "--no-weight-decay '" << expression
         << "' matches the name of no parameter";
}

static llvm::Error wrong(const std::string &found) {
  return llvm::createStringError(
      "expected a regular expression of parameters' names, a colon, and "
      "lr=FACTORx, weight-decay=X or both, as in 'bias$:lr=2x,weight-decay=0'; "
      "found '" +
      found + "'");
}

static bool parseAmount(StringRef text, double &value) {
  return !text.getAsDouble(value) && value >= 0 && std::isfinite(value);
}

llvm::Expected<GroupOption> GroupOption::parse(const std::string &text) {
  auto [expression, settings] = StringRef(text).rsplit(':');
  GroupOption option;
  option.expression = expression.str();
  if (expression.empty() || settings.empty() || expression == text)
    return wrong(text);
  if (std::string error = checkRegex(option.expression); !error.empty())
    return llvm::createStringError(error);
  SmallVector<StringRef> parts;
  settings.split(parts, ',');
  for (StringRef part : parts) {
    double value;
    if (part.consume_front("lr=") && part.consume_back("x") &&
        parseAmount(part, value))
      option.group.rateScale = value;
    else if (part.consume_front("weight-decay=") && parseAmount(part, value))
      option.group.weightDecay = value;
    else
      return wrong(text);
  }
  return option;
}

LogicalResult zc::applyGroups(ModuleOp module,
                              const std::vector<std::string> &groups) {
  DenseSet<Operation *> taken;
  for (const std::string &text : groups) {
    // The command line has been checked.
    GroupOption option = llvm::cantFail(GroupOption::parse(text));
    bool any = false;
    for (train::StateOp state : findParameters(module, option.expression))
      if (taken.insert(state).second) {
        option.group.setOn(state);
        any = true;
      }
    if (!any)
      return emitError(UnknownLoc::get(module.getContext()))
             << "--group '" << text
             << "' has no parameter: each parameter that it matches is frozen "
                "or in a group before it";
  }
  return success();
}
