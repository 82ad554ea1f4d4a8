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

static bool isSound(const nlohmann::json &json) {
  auto isCount = [&](const char *key) {
    return json.contains(key) && json[key].is_number_integer();
  };
  // An infinite value is null.
  return json.is_object() && json.contains("metric") &&
         json["metric"].is_string() && isCount("step") && isCount("since") &&
         json.contains("value") &&
         (json["value"].is_number() || json["value"].is_null());
}

Result<BestSoFar> BestSoFar::read(const std::string &folder,
                                  const std::string &metric, int64_t lastStep) {
  const std::string path = folder + "/" + kFile;
  BestSoFar best;
  best.metric = metric;
  auto text = readFile(path, 1 << 16);
  if (text.status().code() == StatusCode::NotFound)
    return best;
  ZC_RETURN_IF_ERROR(text.status());
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  if (!isSound(json))
    return makeError(StatusCode::Corrupt, "'", path, "' is damaged");
  const auto step = json["step"].get<int64_t>();
  const bool isNone = step < 0 || json["value"].is_null();
  if (isNone || json["metric"] != metric || step > lastStep)
    return best;
  best.value = json["value"].get<double>();
  best.step = step;
  best.since = json["since"].get<int64_t>();
  return best;
}

} // namespace zc
