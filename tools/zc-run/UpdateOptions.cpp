#include "tools/zc-run/UpdateOptions.h"

#include "runtime/Driver/UpdateSettings.h"

#include <cmath>

namespace zc {

/// A finite number from `least` on, below `end`.
static std::string checkBetween(const std::string &text, double least,
                                double end) {
  char *last = nullptr;
  const double value = std::strtod(text.c_str(), &last);
  const bool isSound = last != text.c_str() && *last == '\0' &&
                       std::isfinite(value) && value >= least && value < end;
  if (isSound)
    return "";
  return strCat("expected a number of at least ", least,
                end < 2 ? strCat(" and below ", end) : std::string(),
                ", found '", text, "'");
}

static std::string checkShare(const std::string &text) {
  return checkBetween(text, 0, 1);
}

static std::string checkAmount(const std::string &text) {
  return checkBetween(text, 0, HUGE_VAL);
}

/// Float32 holds it, for gradients are compared with it.
static std::string checkLimit(const std::string &text) {
  std::string wrong = checkBetween(text, 0, HUGE_VAL);
  const float limit = std::strtof(text.c_str(), nullptr);
  if (wrong.empty() && !(limit > 0 && std::isfinite(limit)))
    wrong =
        "expected a number above 0 that float32 holds, found '" + text + "'";
  return wrong;
}

void addUpdateOptions(CLI::App &app, TrainOptions &options) {
  auto add = [&](const char *name, const char *what,
                 std::string (*check)(const std::string &)) {
    app.add_option_function<double>(
           strCat("--", name),
           [&options, name](double value) { options.settings[name] = value; },
           strCat(what, " [as compiled]"))
        ->check(CLI::Validator(
            [check](const std::string &text) { return check(text); }, ""))
        ->type_name("X")
        ->group("Update, where it was compiled with such a number");
  };
  add("weight-decay", "weight decay, but for a --group with its own",
      checkAmount);
  add("momentum", "momentum of sgd and sm3", checkAmount);
  add("beta1", "decay of Adam's first moment", checkShare);
  add("beta2", "decay of Adam's second moment", checkShare);
  add("clip-norm", "the largest norm of all gradients", checkLimit);
  add("clip-value", "the largest magnitude of a gradient's element",
      checkLimit);
}

} // namespace zc
