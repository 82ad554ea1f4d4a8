#include "tools/zc-run/RememberedOptions.h"
#include "runtime/Driver/CompiledSettings.h"
#include "runtime/Io/DataPaths.h"

#include <charconv>
#include <cmath>
#include <cstring>
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

// Where the run was begun: its relative paths are seen from there.
static constexpr const char *kFolder = "folder";

// One of them stands for the other.
static bool isReplaced(const CLI::App &command, const std::string &name) {
  return (name == "steps" && command.count("--epochs")) ||
         (name == "epochs" && command.count("--steps"));
}

static CLI::Option *find(const CLI::App &command, const std::string &name) {
  // CLI11 finds options of a constant command as constants.
  return const_cast<CLI::App &>(command).get_option_no_throw("--" + name);
}

static bool isPath(const std::string &name) {
  return name == "data" || name == "eval-data" || name == "log" ||
         name == "tensorboard";
}

/// A folder's name in front of a pattern is none.
static std::string escaped(const std::string &folder) {
  std::string text;
  for (char each : folder)
    text += std::strchr("*?[", each) ? std::string("[") + each + "]"
                                     : std::string(1, each);
  return text;
}

/// The file as seen from the folder that the run was begun in, where that is
/// there; else as seen from here.
static std::string fileOf(const std::string &path, const std::string &folder) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (path == "-" || folder.empty() || fs::path(path).is_absolute() ||
      fs::equivalent(folder, ".", error))
    return path;
  if (isPattern(path) && !fs::exists(path, error))
    return fs::is_directory(folder, error) ? escaped(folder) + "/" + path
                                           : path;
  const std::string there = folder + "/" + path;
  return fs::is_directory(fs::path(there).parent_path(), error) ? there : path;
}

/// An option's file, or each of several files of samples.
static std::string placeOf(const std::string &name, const std::string &text,
                           const std::string &folder) {
  if (name != "data" && name != "eval-data")
    return fileOf(text, folder);
  std::string places;
  for (const std::string &path : listPaths(text))
    places += (places.empty() ? "" : ",") + fileOf(path, folder);
  return places;
}

std::set<std::string> takeOver(CLI::App &command,
                               const NamedTexts &remembered) {
  std::set<std::string> taken;
  const std::string *folder = findText(remembered, kFolder);
  for (const char *name : kRemembered)
    for (const auto &[each, text] : remembered) {
      CLI::Option *option = find(command, name);
      if (each != name || !option || option->count() ||
          isReplaced(command, name))
        continue;
      option->add_result(
          isPath(name) ? placeOf(name, text, folder ? *folder : "") : text);
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
      texts.emplace_back(name, isPath(name) ? text : plain(text));
  }
  std::error_code error;
  texts.emplace_back(kFolder, std::filesystem::current_path(error).string());
  return texts;
}

} // namespace zc
