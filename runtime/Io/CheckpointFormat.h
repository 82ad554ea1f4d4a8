// What the writer and the reader of checkpoints share. Private to this folder.
#ifndef ZC_RUNTIME_IO_CHECKPOINTFORMAT_H
#define ZC_RUNTIME_IO_CHECKPOINTFORMAT_H

#include "runtime/Exec/Executor.h"

#include <nlohmann/json.hpp>

namespace zc::checkpoint {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;

/// One set of tensor files with an index.
struct Group {
  const char *name; // of the files: "model", "optimizer"
  bool (*holds)(plan::StateKind kind);
};

inline bool isModelState(plan::StateKind kind) {
  return kind == plan::PARAMETER || kind == plan::STATISTIC;
}
inline bool isOptimizerState(plan::StateKind kind) {
  return kind == plan::OPTIMIZER;
}

constexpr Group kModel = {"model", isModelState};
constexpr Group kOptimizer = {"optimizer", isOptimizerState};

inline std::string indexName(const Group &group) {
  return std::string(group.name) + ".safetensors.index.json";
}

} // namespace zc::checkpoint

#endif // ZC_RUNTIME_IO_CHECKPOINTFORMAT_H
