#include "compiler/Driver/ExpertOptions.h"

#include "compiler/Driver/Commands.h"
#include "dialects/Train/ExpertOps.h"
#include "passes/Autodiff/Optimizers/Optimizers.h"
#include "runtime/Plan/Axes.h"

#include <cmath>

using namespace zc;

static std::string checkCapacity(const std::string &text) {
  double value;
  bool sound = text == "none" || (CLI::detail::lexical_cast(text, value) &&
                                  std::isfinite(value) && value > 0);
  return sound ? ""
               : "expected none or a number above 0, as in 1.25; found '" +
                     text + "'";
}

static std::string checkGroup(const std::string &text) {
  return text == "sample" ? "" : checkCount(text);
}

void zc::addExpertOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--moe-capacity", options.moeCapacity,
                  "capacity of each expert for a group of tokens, as a "
                  "multiple of an even share; a token that finds no room "
                  "passes by the residual alone; none: every token finds room")
      ->check(checkCapacity)
      ->type_name("F|none");
  command
      .add_option("--moe-group", options.moeGroup,
                  "the group of tokens that shares an expert's capacity: those "
                  "of a sample, or so many in a row")
      ->check(checkGroup)
      ->type_name("TOKENS|sample");
}

static int64_t getGroupTokens(const CompileOptions &options) {
  int64_t tokens = 0;
  llvm::StringRef(options.moeGroup).getAsInteger(10, tokens);
  return tokens;
}

static double getCapacity(const CompileOptions &options) {
  double capacity = 0;
  if (options.moeCapacity != "none")
    CLI::detail::lexical_cast(options.moeCapacity, capacity);
  return capacity;
}

bool zc::hasOwnRooms(mlir::ModuleOp module) {
  return module
      .walk([](train::GroupedMatmulOp op) {
        return op.getRoomCapacity() ? mlir::WalkResult::interrupt()
                                    : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

DispatchExpertsPassOptions zc::getExpertOptions(const CompileOptions &options) {
  const bool isDivided = options.getAxisSize(axes::kExpert) > 1;
  DispatchExpertsPassOptions dispatch;
  dispatch.ownRooms = !isDivided && options.moeCapacity == "none";
  dispatch.capacity = getCapacity(options);
  dispatch.groupTokens = getGroupTokens(options);
  if (isDivided) {
    dispatch.axis = axes::kExpert;
    dispatch.packParameters = !getOptimizer(options.optimizer).looksAtRows;
    dispatch.ranks = options.getAxisSize(axes::kExpert);
  }
  return dispatch;
}
