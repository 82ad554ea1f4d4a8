#include "compiler/Driver/OptimizerOptions.h"

#include "compiler/Driver/Commands.h"
#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/ParameterGroups.h"
#include "passes/Autodiff/Optimizers/Optimizers.h"

using namespace zc;

// A decay of 1 would divide by zero.
static std::string checkDecay(const std::string &text) {
  double value = 0;
  if (CLI::detail::lexical_cast(text, value) && value >= 0 && value < 1)
    return "";
  return "expected a number of at least 0 and below 1, found " + text;
}

static std::vector<std::string> listOptimizers() {
  std::vector<std::string> names;
  for (const OptimizerKind &each : getOptimizers())
    names.push_back(each.name.str());
  return names;
}

void zc::addOptimizerOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--optimizer", options.optimizer,
                  "the optimizer; onebit-adam: Adam up to --freeze-step, then "
                  "its second moment stays as it is and ranks send signs of "
                  "momentum, 8 a byte, and a scale (the root of the mean "
                  "square) per parameter in place of gradients; the error of "
                  "that is added to the next step's momentum")
      ->check(CLI::IsMember(listOptimizers()));
  command
      .add_option(
          "--freeze-step", options.freezeStep,
          "the last step of onebit-adam's warm-up, by when second moments "
          "should have settled (default as DeepSpeed's)")
      ->check(checkCount)
      ->type_name("N");
  command.add_option("--momentum", options.momentum, "momentum of sgd and sm3")
      ->check(checkAmount);
  command.add_flag("--nesterov", options.nesterov, "Nesterov momentum for sgd");
  command.add_option("--beta1", options.beta1, "decay of Adam's first moment")
      ->check(checkDecay);
  command.add_option("--beta2", options.beta2, "decay of Adam's second moment")
      ->check(checkDecay);
  command.add_option("--eps", options.eps, "added to Adam's denominator")
      ->check(checkAmount);
  command
      .add_option("--weight-decay", options.weightDecay,
                  "weight decay; by default 0.01 for adamw, else 0")
      ->check(checkAmount);
  command
      .add_option("--no-weight-decay", options.noWeightDecay,
                  "parameters that weight decay leaves alone")
      ->check(checkRegex)
      ->type_name("REGEX");
  command
      .add_option("--clip-norm", options.clipNorm,
                  "scale gradients down to this global norm")
      ->check(checkPositive)
      ->default_str("");
  command
      .add_option("--clip-value", options.clipValue,
                  "the largest magnitude of a gradient's element, after "
                  "--clip-norm")
      ->check(checkPositive)
      ->type_name("X")
      ->default_str("");
  command
      .add_option("--group", options.groups,
                  "parameters with a learning rate or weight decay of their "
                  "own, as in 'bias$:lr=2x,weight-decay=0'; the first group "
                  "that matches counts; repeatable")
      ->check([](const std::string &text) {
        auto group = GroupOption::parse(text);
        return group ? "" : llvm::toString(group.takeError());
      })
      ->allow_extra_args(false)
      ->type_name("REGEX:SETTINGS");
  command
      .add_option("--ema", options.averageDecay,
                  "keep an exponential moving average of the weights with this "
                  "decay, 4 bytes a parameter, for zc export --ema")
      ->check(checkDecay)
      ->type_name("DECAY");
}
