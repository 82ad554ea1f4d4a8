#include "tools/zc-run/RememberedOptions.h"

#include <charconv>
#include <cmath>
#include <filesystem>

namespace zc {

// Not those that belong to one machine or one job, nor --seed and --shuffle,
// which have places of their own.
static constexpr const char *kRemembered[] = {
    "data",        "token-bits",     "steps",        "epochs",   "lr",
    "lr-schedule", "warmup-steps",   "min-lr",       "lr-power", "lr-step-size",
    "lr-factor",   "lr-decay-steps", "save-every",   "keep",     "keep-best",
    "patience",    "eval-data",      "eval-every",   "metrics",  "log",
    "log-every",   "tensorboard",    "weight-decay", "momentum", "beta1",
    "beta2",       "clip-norm",      "clip-value"};

// One of them stands for the other.
static bool isReplaced(const CLI::App &command, const std::string &name) {
  return (name == "steps" && command.count("--epochs")) ||
         (name == "epochs" && command.count("--steps"));
}

static CLI::Option *find(const CLI::App &command, const std::string &name) {
  // CLI11 finds options of a constant command as constants.
  return const_cast<CLI::App &>(command).get_option_no_throw("--" + name);
}

std::set<std::string> takeOver(CLI::App &command,
                               const NamedTexts &remembered) {
  std::set<std::string> taken;
  for (const char *name : kRemembered)
    for (const auto &[each, text] : remembered) {
      CLI::Option *option = find(command, name);
      if (each != name || !option || option->count() ||
          isReplaced(command, name))
        continue;
      option->add_result(text);
      option->run_callback();
      taken.insert(name);
    }
  return taken;
}

/// Numbers in one spelling, "1e-3" as "0.001"; other texts as they are, and
/// counts, which may have no exponent.
static std::string plain(const std::string &text) {
  if (text.find_first_not_of("0123456789") == std::string::npos)
    return text;
  char *end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value))
    return text;
  char buffer[64];
  auto [last, error] = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return error == std::errc() ? std::string(buffer, last) : text;
}

static bool isPath(const std::string &name) {
  return name == "data" || name == "eval-data" || name == "log" ||
         name == "tensorboard";
}

/// From wherever the run goes on, it is the same file.
static std::string absolute(const std::string &path) {
  std::error_code error;
  const auto whole = std::filesystem::absolute(path, error);
  return path == "-" || error ? path : whole.lexically_normal().string();
}

/// Whether it acts when not given, too; other options act only if given.
static bool hasDefault(const std::string &name) {
  return name == "lr" || name == "lr-schedule";
}

NamedTexts remember(const CLI::App &command) {
  NamedTexts texts;
  for (const char *name : kRemembered) {
    CLI::Option *option = find(command, name);
    if (!option)
      continue;
    std::string text;
    for (const std::string &result : option->results())
      text += (text.empty() ? "" : ",") + result;
    if (option->count() == 0 && hasDefault(name))
      text = option->get_default_str();
    if (!text.empty())
      texts.emplace_back(name, isPath(name) ? absolute(text) : plain(text));
  }
  return texts;
}

} // namespace zc
