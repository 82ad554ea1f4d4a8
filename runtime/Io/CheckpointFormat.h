// Shared by the writer and the reader of checkpoints. Private to this folder.
#ifndef ZC_RUNTIME_IO_CHECKPOINTFORMAT_H
#define ZC_RUNTIME_IO_CHECKPOINTFORMAT_H

#include "runtime/Exec/Executor.h"
#include "runtime/Io/Checkpoint.h"
#include "runtime/Plan/FileTensor.h"
#include "runtime/Plan/Types.h"

#include <nlohmann/json.hpp>

namespace zc::checkpoint {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

/// One set of tensor files with an index.
struct Group {
  const char *name; // of the files: "model", "optimizer"
  std::vector<FileTensor> (*tensorsOf)(const plan::State &state);
};

inline std::vector<FileTensor> modelTensorsOf(const plan::State &state) {
  return isModelState(state) ? fileTensorsOf(state) : std::vector<FileTensor>();
}

/// With the older versions of parameters, which only a run that goes on needs.
inline std::vector<FileTensor> optimizerTensorsOf(const plan::State &state) {
  return state.kind() == plan::OPTIMIZER ? fileTensorsOf(state)
                                         : olderVersionsOf(state);
}

constexpr Group kModel = {"model", modelTensorsOf};
constexpr Group kOptimizer = {"optimizer", optimizerTensorsOf};

inline std::string indexName(const Group &group) {
  return std::string(group.name) + ".safetensors.index.json";
}

/// The text of a small file: `json`, and last, as "xxh64", the hash of what it
/// would be without that.
std::string seal(Json json);

/// Fails where the hash is of other content. A file without one is taken as it
/// is: somebody wrote it by hand.
Status checkSeal(const std::string &path, Json json);

/// An object; numbers and truth values as such, for those who read the file.
Json textsToJson(const NamedTexts &texts);

/// The texts back; nothing where `json` is no such object.
NamedTexts textsFromJson(const Json &json);

} // namespace zc::checkpoint

#endif // ZC_RUNTIME_IO_CHECKPOINTFORMAT_H
