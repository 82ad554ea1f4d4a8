#include "tools/zc-run/UpdateOptions.h"

#include "runtime/Driver/UpdateSettings.h"

#include <cmath>

namespace zc {

/// Whatever is no number is not finite.
static double parse(const std::string &text) {
  char *last = nullptr;
  const double value = std::strtod(text.c_str(), &last);
  return last != text.c_str() && *last == '\0' ? value : NAN;
}

void addUpdateOptions(CLI::App &app, TrainOptions &options) {
  auto add = [&](const char *name, const char *what) {
    auto check = [name](const std::string &text) {
      const std::string why = whyNoSetting(name, parse(text));
      return why.empty() ? why : strCat(why, ", found '", text, "'");
    };
    app.add_option_function<double>(
           strCat("--", name),
           [&options, name](double value) { options.settings[name] = value; },
           strCat(what, " [as compiled]"))
        ->check(CLI::Validator(check, ""))
        ->type_name("X")
        ->group("Update, where it was compiled with such a number");
  };
  add("weight-decay", "weight decay, but for a --group with its own");
  add("momentum", "momentum of sgd and sm3");
  add("beta1", "decay of Adam's first moment");
  add("beta2", "decay of Adam's second moment");
  add("clip-norm", "the largest norm of all gradients");
  add("clip-value", "the largest magnitude of a gradient's element");
}

} // namespace zc
