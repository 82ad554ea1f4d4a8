#include "runtime/Driver/BestSoFar.h"
#include "runtime/Base/File.h"
#include "runtime/Driver/EvaluationMetrics.h"
#include "runtime/Plan/CheckpointFolder.h"

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace zc {

namespace fs = std::filesystem;

static constexpr const char *kLink = "best";
static constexpr const char *kFile = "best.json";

bool BestSoFar::take(int64_t atStep, double found) {
  bool isBetter =
      !std::isnan(found) &&
      (step < 0 || (isLowerBetter(metric) ? found < value : found > value));
  if (!isBetter) {
    ++since;
    return false;
  }
  value = found;
  step = atStep;
  since = 0;
  return true;
}

Status BestSoFar::writeCount(const std::string &folder) const {
  nlohmann::ordered_json json = {
      {"metric", metric}, {"value", value}, {"step", step}, {"since", since}};
  return writeFile(folder + "/" + kFile, json.dump(2) + "\n");
}

Status BestSoFar::write(const std::string &folder) const {
  const std::string link = folder + "/" + kLink, hidden = link + ".tmp";
  ::unlink(hidden.c_str());
  const std::string target = fs::path(checkpointPath(folder, step)).filename();
  if (::symlink(target.c_str(), hidden.c_str()) != 0 ||
      ::rename(hidden.c_str(), link.c_str()) != 0)
    return errnoError("cannot write '" + link + "'");
  return writeCount(folder);
}

void BestSoFar::remove(const std::string &folder) {
  for (const char *name : {kLink, kFile})
    ::unlink((folder + "/" + name).c_str());
}

BestSoFar BestSoFar::read(const std::string &folder, const std::string &metric,
                          int64_t lastStep) {
  BestSoFar none;
  none.metric = metric;
  auto text = readFile(folder + "/" + kFile, 1 << 16);
  if (!text.ok())
    return none;
  auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!json.is_object() || json.value("metric", nlohmann::json()) != metric)
    return none;
  for (const char *key : {"step", "since"})
    if (!json.contains(key) || !json[key].is_number_unsigned())
      return none;
  if (!json.contains("value") || !json["value"].is_number())
    return none;
  BestSoFar best = none;
  best.value = json["value"].get<double>();
  best.step = json["step"].get<int64_t>();
  best.since = json["since"].get<int64_t>();
  return best.step <= lastStep ? best : none;
}

} // namespace zc
