// The states of a session by their ONNX names: whole tensors, as files have
// them, whichever ranks hold them.
#ifndef ZC_RUNTIME_API_SESSIONSTATES_H
#define ZC_RUNTIME_API_SESSIONSTATES_H

#include "runtime/Exec/Executor.h"
#include "runtime/Plan/RoleTensors.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace zc {

class SessionStates {
public:
  /// Lists the states of all roles of the executor's artifact, which must live
  /// longer.
  explicit SessionStates(Executor &executor);

  struct Entry {
    HeldTensor held;
    std::optional<FileTensor> own; // as this rank's role has it
    std::string name;
    std::vector<int64_t> dims;
    plan::StateKind kind;

    const plan::TensorType &type() const { return held.tensor.type; }
  };
  const std::vector<Entry> &all() const { return entries; }

  /// By its own name, or by that of a tensor that is tied to it; fails
  /// (NotFound) where there is none.
  Result<const Entry *> find(const std::string &name) const;

  /// Fails where there is no such state, where `bytes` is not its size, or
  /// where `values`, if any, are not finite.
  Status check(const std::string &name, uint64_t bytes,
               const void *values = nullptr) const;

  /// Reads or writes a state whose name and size have been checked. All ranks
  /// call these; each gets, or gives, the whole tensor.
  Status read(const std::string &name, void *data);
  Status write(const std::string &name, const void *data);

private:
  void add(HeldTensor held);

  Executor &executor;
  std::vector<Entry> entries;
  std::map<std::string, size_t> numbers; // by all names
};

} // namespace zc

#endif // ZC_RUNTIME_API_SESSIONSTATES_H
