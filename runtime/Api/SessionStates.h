// The states of a session by their ONNX names: whole tensors, as files have
// them.
#ifndef ZC_RUNTIME_API_SESSIONSTATES_H
#define ZC_RUNTIME_API_SESSIONSTATES_H

#include "runtime/Exec/Executor.h"

#include <map>
#include <string>
#include <vector>

namespace zc {

class SessionStates {
public:
  /// Of the executor's role, which lives longer.
  explicit SessionStates(Executor &executor);

  struct Entry {
    FileTensor tensor;
    std::string name;
    std::vector<int64_t> dims;
    plan::StateKind kind;
  };
  const std::vector<Entry> &all() const { return entries; }

  /// By its own name, or by that of a tensor that is tied to it; fails
  /// (NotFound) where there is none.
  Result<const Entry *> find(const std::string &name) const;

  /// `bytes` must be the state's; values that are set must be finite.
  Status read(const std::string &name, void *data, uint64_t bytes);
  Status write(const std::string &name, const void *data, uint64_t bytes);

private:
  Result<const Entry *> findSized(const std::string &name,
                                  uint64_t bytes) const;

  Executor &executor;
  std::vector<Entry> entries;
  std::map<std::string, size_t> numbers; // by all names
};

} // namespace zc

#endif // ZC_RUNTIME_API_SESSIONSTATES_H
