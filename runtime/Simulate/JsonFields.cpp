#include "runtime/Simulate/JsonFields.h"

namespace zc {

static const nlohmann::json kNull, kNoList = nlohmann::json::array();

const nlohmann::json &JsonFields::any(const char *key) {
  known.insert(key);
  return has(key) ? object.at(key) : kNull;
}

const nlohmann::json &JsonFields::list(const char *key) {
  const Json &value = any(key);
  if (value.is_null())
    return kNoList;
  if (!value.is_array()) {
    fail(key, "expected a list");
    return kNoList;
  }
  return value;
}

double JsonFields::number(const char *key, double least, double most) {
  const Json &value = any(key);
  if (value.is_null())
    fail(key, "is missing");
  else if (!value.is_number())
    fail(key, "expected a number");
  else if (double number = value.get<double>();
           number >= least && number <= most)
    return number;
  else
    fail(key, strCat("expected a number from ", least, " to ", most, ", found ",
                     value.dump()));
  return least;
}

std::vector<double> JsonFields::numbers(const char *key, double least,
                                        double most, size_t count) {
  std::vector<double> found;
  for (const Json &value : list(key))
    if (value.is_number() && value.get<double>() >= least &&
        value.get<double>() <= most)
      found.push_back(value.get<double>());
  if (found.size() != list(key).size() || found.size() != count)
    fail(key, strCat("expected a list of ", count, " numbers from ", least,
                     " to ", most, ", found ", any(key).dump()));
  found.resize(count, least);
  return found;
}

int64_t JsonFields::integer(const char *key, int64_t least, int64_t most) {
  const Json &value = any(key);
  if (value.is_null())
    fail(key, "is missing");
  else if (!value.is_number_integer())
    fail(key, "expected a whole number");
  else if (int64_t number = value.get<int64_t>();
           number >= least && number <= most)
    return number;
  else
    fail(key, strCat("expected a whole number of at least ", least, ", found ",
                     value.dump()));
  return least;
}

std::string JsonFields::text(const char *key) {
  const Json &value = any(key);
  if (value.is_string())
    return value.get<std::string>();
  fail(key, value.is_null() ? "is missing" : "expected a text");
  return "";
}

Status JsonFields::finish() {
  if (!failure.ok() || !object.is_object())
    return failure;
  for (const auto &[key, value] : object.items()) {
    if (known.count(key))
      continue;
    std::string names;
    for (const std::string &each : known)
      names += (names.empty() ? "" : ", ") + each;
    return makeError(StatusCode::InvalidArgument, pathOf(key),
                     ": unknown key; there are ", names);
  }
  return Status();
}

} // namespace zc
