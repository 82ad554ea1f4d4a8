// Sizes of dims, and where the samples are.
#include "compiler/Driver/Commands.h"

#include "llvm/ADT/StringRef.h"

using namespace zc;

// The last '=' divides: names may contain one.
static std::pair<std::string, std::string> divide(const std::string &text) {
  auto [name, value] = llvm::StringRef(text).rsplit('=');
  return {name.str(), value.str()};
}

static std::string checkDim(const std::string &text) {
  auto [name, value] = divide(text);
  int64_t size;
  bool sound = !name.empty() && name != text &&
               !llvm::StringRef(value).getAsInteger(10, size) && size >= 0;
  return sound ? ""
               : "expected NAME=SIZE with a size of 0 or more, found '" + text +
                     "'";
}

static std::string checkBatchDim(const std::string &text) {
  auto [name, value] = divide(text);
  int64_t dim;
  bool sound = !name.empty() && name != text &&
               (value == "none" ||
                (!llvm::StringRef(value).getAsInteger(10, dim) && dim >= 0));
  return sound ? "" : "expected INPUT=K or INPUT=none, found '" + text + "'";
}

void zc::checkNoneTwice(const char *option,
                        const std::vector<std::string> &texts) {
  std::map<std::string, std::string> values;
  for (const std::string &text : texts) {
    auto [name, value] = divide(text);
    auto [known, isNew] = values.emplace(name, value);
    if (!isNew && known->second != value)
      throw CLI::ValidationError(option, "gives '" + name +
                                             "' twice and differently, " +
                                             known->second + " and " + value);
  }
}

std::map<std::string, int64_t>
zc::parseDims(const std::vector<std::string> &texts) {
  std::map<std::string, int64_t> dims;
  for (const std::string &text : texts)
    llvm::StringRef(divide(text).second)
        .getAsInteger(10, dims[divide(text).first]);
  return dims;
}

std::map<std::string, int64_t>
zc::parseBatchDims(const std::vector<std::string> &texts) {
  std::map<std::string, int64_t> dims;
  for (const std::string &text : texts) {
    int64_t &dim = dims[divide(text).first];
    if (llvm::StringRef(divide(text).second).getAsInteger(10, dim))
      dim = -1;
  }
  return dims;
}

/// The number that `text` gives, or false and true as 0 and 1.
static std::optional<double> readNumber(llvm::StringRef text) {
  if (text.equals_insensitive("true") || text.equals_insensitive("false"))
    return text.equals_insensitive("true");
  double number;
  return text.getAsDouble(number) ? std::nullopt : std::optional(number);
}

static std::string checkInputValue(const std::string &text) {
  auto [name, value] = divide(text);
  bool sound = !name.empty() && name != text && readNumber(value);
  return sound ? ""
               : "expected INPUT=NUMBER, true or false, found '" + text + "'";
}

void zc::addInputValueOption(CLI::App &command,
                             std::vector<std::string> &values) {
  command
      .add_option("--input-value", values,
                  "the number that an input of one element always has: shapes "
                  "and branches may depend on it; repeatable")
      ->check(checkInputValue)
      ->allow_extra_args(false)
      ->type_name("INPUT=NUMBER")
      ->default_str("");
}

void zc::addMaxTripsOption(CLI::App &command, int64_t &most) {
  command
      .add_option(
          "--max-trips", most,
          "the most rounds of a loop whose number of rounds depends on values; "
          "all are computed, those beyond the last change nothing")
      ->check(CLI::Range(int64_t(1), int64_t(16384)))
      ->type_name("N")
      ->default_str("");
}

std::map<std::string, double>
zc::parseInputValues(const std::vector<std::string> &texts) {
  std::map<std::string, double> values;
  for (const std::string &text : texts)
    values[divide(text).first] = *readNumber(divide(text).second);
  return values;
}

void zc::addDimOptions(CLI::App &command, std::vector<std::string> &dims,
                       std::vector<std::string> &batchDims) {
  command
      .add_option("--dim", dims,
                  "the size of a symbolic dimension, by its name, or of dim K "
                  "of an input, as x.0=8")
      ->check(checkDim)
      ->allow_extra_args(false)
      ->type_name("NAME|INPUT.K=SIZE")
      ->default_str("");
  command
      .add_option("--batch-dim", batchDims,
                  "where the samples are; by default dim 0 of every input "
                  "whose dim 0 equals the first output's")
      ->check(checkBatchDim)
      ->allow_extra_args(false)
      ->type_name("INPUT=K|none")
      ->default_str("");
}
