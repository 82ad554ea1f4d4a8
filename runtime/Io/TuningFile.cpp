#include "runtime/Io/TuningFile.h"
#include "runtime/Base/File.h"
#include "runtime/Io/CheckpointFormat.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

namespace zc {

using checkpoint::Json;

static constexpr size_t kMostBytes = 4u << 20;
static constexpr int kTuningFormat = 1;
static constexpr const char *kMark = "zc_tuning";

Result<std::string> defaultTuningFile() {
  for (const auto &[variable, folder] :
       {std::pair("XDG_CACHE_HOME", "/zc/tune.json"),
        {"HOME", "/.cache/zc/tune.json"}})
    if (const char *value = std::getenv(variable); value && *value)
      return std::string(value) + folder;
  return makeError(StatusCode::InvalidArgument,
                   "--tune: neither $XDG_CACHE_HOME nor $HOME says where the "
                   "tuning file is; give --tune FILE");
}

/// Nothing where the entry has another form.
static std::optional<MeasuredWays> parseEntry(const Json &entry) {
  if (!entry.is_object() || !entry.contains("way") || !entry["way"].is_string())
    return std::nullopt;
  MeasuredWays ways;
  ways.quickest = entry["way"].get<std::string>();
  const Json times = entry.value("ms", Json::object());
  if (!times.is_object())
    return std::nullopt;
  for (const auto &[way, time] : times.items()) {
    if (!time.is_number())
      return std::nullopt;
    ways.seconds.emplace_back(way, time.get<double>() / 1e3);
  }
  return ways;
}

Result<TuningTable> parseTuning(const std::string &text,
                                const std::string &path, size_t &unknown) {
  const Json json = Json::parse(text, nullptr, false);
  auto refuse = [&](const std::string &why) {
    return makeError(StatusCode::InvalidArgument, "--tune: '", path, "' ", why,
                     "; give --tune another FILE, or remove this one: what it "
                     "held is measured again");
  };
  if (!json.is_object() || !json.contains(kMark))
    return refuse("is no tuning file, or damaged");
  if (json[kMark] != kTuningFormat)
    return refuse("is a tuning file of another version of zc");
  if (!json.contains("ways") || !json["ways"].is_object())
    return refuse("is damaged: it has no ways");
  TuningTable table;
  for (const auto &[key, entry] : json["ways"].items())
    if (std::optional<MeasuredWays> ways = parseEntry(entry))
      table.emplace(key, std::move(*ways));
    else
      ++unknown;
  return table;
}

std::string printTuning(const TuningTable &table) {
  Json ways = Json::object();
  for (const auto &[key, measured] : table) {
    Json times = Json::object();
    for (const auto &[way, seconds] : measured.seconds)
      times[way] = std::round(seconds * 1e9) / 1e6;
    ways[key] = {{"way", measured.quickest}};
    if (!times.empty())
      ways[key]["ms"] = std::move(times);
  }
  const Json json = {{kMark, kTuningFormat}, {"ways", std::move(ways)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<TuningTable> readTuningFile(const std::string &path, size_t &unknown) {
  std::error_code error;
  const auto kind = std::filesystem::status(path, error).type();
  if (kind == std::filesystem::file_type::not_found)
    return TuningTable();
  // Whoever reads a pipe or a device might wait for ever.
  if (kind != std::filesystem::file_type::regular)
    return makeError(StatusCode::InvalidArgument, "--tune: '", path,
                     "' is not a regular file");
  Result<std::string> text = readFile(path, kMostBytes);
  if (!text.ok())
    return text.status().withContext("--tune");
  if (text->empty())
    return TuningTable();
  return parseTuning(*text, path, unknown);
}

Status addToTuningFile(const std::string &path, const TuningTable &added) {
  size_t unknown = 0;
  ZC_ASSIGN_OR_RETURN(TuningTable table, readTuningFile(path, unknown));
  for (const auto &[key, ways] : added)
    table[key] = ways;
  ZC_RETURN_IF_ERROR(makeDirectories(parentPath(path)));
  return writeFile(path, printTuning(table));
}

} // namespace zc
