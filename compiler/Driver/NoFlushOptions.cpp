#include "compiler/Driver/NoFlushOptions.h"

#include "compiler/Driver/Float8Options.h"
#include "runtime/Plan/Axes.h"
#include "runtime/Plan/Order/Versions.h"

#include <algorithm>

using namespace zc;

/// Sums over all roles that an update would have to wait for.
static std::string checkSums(const CompileOptions &options) {
  const std::string who = "--schedule " + options.schedule + " has no flush: ";
  if (options.clipNorm > 0)
    return "--clip-norm needs the norm over all roles before any of them "
           "updates; " +
           who +
           "roles update at different times. Use --clip-value, or "
           "--schedule 1f1b";
  if (options.precision == "fp16")
    return "--precision fp16 scales the loss, and needs to know of all roles "
           "whether gradients overflow before any of them updates; " +
           who +
           "roles update at different times. Use bf16, or --schedule "
           "1f1b";
  if (scalesByHistory(options))
    return "--fp8-scaling delayed has one scale for all micro-batches of a "
           "step; " +
           who +
           "micro-batches of two steps are in flight at once. Use current or "
           "block, or --schedule 1f1b";
  if (options.optimizer == "onebit-adam")
    return "--optimizer onebit-adam compresses a step's whole momentum; " +
           who + "no step is whole at any time";
  return "";
}

std::string zc::checkWithoutFlush(const CompileOptions &options) {
  if (options.verticalSync && options.schedule != "stash")
    return "--vertical-sync belongs to --schedule stash";
  if (!isWithoutFlush(options.schedule))
    return "";
  const int64_t roles = options.getAxisSize(axes::kRole);
  if (options.mode != "train")
    return "--schedule belongs to --mode train";
  if (options.loss == "none")
    return "--schedule " + options.schedule +
           " needs a loss of micro-batches; --loss none has no labels to count";
  if (std::string wrong = checkSums(options); !wrong.empty())
    return wrong;
  if (options.schedule == "2bw" && options.accumulate < roles)
    return "--schedule 2bw keeps two versions of the parameters, which is "
           "enough where a step has at least as many micro-batches as the "
           "pipeline has stages; expected --accumulate " +
           std::to_string(roles) + " or more with pp=" + std::to_string(roles) +
           ", found " + std::to_string(options.accumulate);
  if (roles == 1 && options.schedule == "stash" && options.stages == "auto")
    return "--schedule stash with pp=1 trains as a pipeline would whose stages "
           "a file says; give --stages FILE";
  if (roles == 1 && options.schedule == "stash" && !options.verticalSync &&
      options.zero > 0)
    return "--zero with --schedule stash needs a --mesh with pp: parameters of "
           "one unit would be read at different versions";
  if (options.aggregation == "server")
    return "--aggregation server does not go with --schedule " +
           options.schedule +
           ", whose ranks keep several versions of the parameters; leave one "
           "of the two out";
  if (!options.offload.empty() && options.offload != "none")
    return "--offload does not go with --schedule " + options.schedule +
           ", which keeps several versions of the parameters at hand";
  return "";
}

/// One more than the largest stage of any rule.
static int64_t countStages(llvm::StringRef rules) {
  int64_t stages = 1;
  llvm::SmallVector<llvm::StringRef> lines;
  rules.split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines) {
    int64_t stage = 0;
    if (!line.rsplit(' ').second.getAsInteger(10, stage))
      stages = std::max(stages, stage + 1);
  }
  return stages;
}

MarkDelaysPassOptions zc::getDelayOptions(const CompileOptions &options,
                                          llvm::StringRef stageRules) {
  MarkDelaysPassOptions delays;
  delays.oneRole = options.getAxisSize(axes::kRole) == 1;
  DelayRule rule;
  rule.schedule = options.schedule;
  rule.stages = uint32_t(delays.oneRole ? countStages(stageRules)
                                        : options.getAxisSize(axes::kRole));
  rule.microBatches = uint32_t(options.accumulate);
  rule.verticalSync = options.verticalSync;
  for (uint32_t stage = 0; stage < rule.stages; ++stage)
    delays.delays.push_back(delayOf(rule, stage));
  return delays;
}
