#include "runtime/Api/SessionStates.h"
#include "runtime/Io/Convert.h"
#include "runtime/Io/StateTensors.h"
#include "runtime/Plan/Types.h"

namespace zc {

static bool isForCallers(const plan::State &state) {
  return isModelState(state) || state.kind() == plan::OPTIMIZER;
}

SessionStates::SessionStates(Executor &executor) : executor(executor) {
  for (const plan::State &state : executor.role().states()) {
    if (!isForCallers(state))
      continue;
    for (const FileTensor &tensor : fileTensorsOf(state)) {
      const size_t number = entries.size();
      const auto &dims = tensor.type.dims();
      entries.push_back(
          {tensor, tensor.name(), {dims.begin(), dims.end()}, state.kind()});
      numbers.emplace(tensor.name(), number);
      for (const std::string &name :
           tensor.member ? tensor.member->onnx_names() : state.onnx_names())
        numbers.emplace(name, number);
    }
  }
}

Result<const SessionStates::Entry *>
SessionStates::find(const std::string &name) const {
  auto found = numbers.find(name);
  if (found != numbers.end())
    return &entries[found->second];
  std::string some;
  for (size_t i = 0; i < entries.size() && i < 5; ++i)
    some += (i ? ", '" : "'") + entries[i].name + "'";
  if (entries.size() > 5)
    some += strCat(" and ", entries.size() - 5, " more");
  return makeError(StatusCode::NotFound, "there is no state '", name,
                   "'; there are ", some.empty() ? "none" : some);
}

Result<const SessionStates::Entry *>
SessionStates::findSized(const std::string &name, uint64_t bytes) const {
  ZC_ASSIGN_OR_RETURN(const Entry *entry, find(name));
  ZC_ASSIGN_OR_RETURN(const uint64_t own, byteCount(entry->tensor.type));
  if (own != bytes)
    return makeError(StatusCode::InvalidArgument, "the state '", name, "' is ",
                     printType(entry->tensor.type), ", ", own, " bytes; ",
                     bytes, " were given");
  return entry;
}

Status SessionStates::read(const std::string &name, void *data,
                           uint64_t bytes) {
  ZC_ASSIGN_OR_RETURN(const Entry *entry, findSized(name, bytes));
  return readTensor(executor, entry->tensor, static_cast<char *>(data));
}

Status SessionStates::write(const std::string &name, const void *data,
                            uint64_t bytes) {
  ZC_ASSIGN_OR_RETURN(const Entry *entry, findSized(name, bytes));
  const auto *from = static_cast<const char *>(data);
  if (!allFinite(entry->tensor.type.dtype(), {from, bytes}))
    return makeError(StatusCode::InvalidArgument, "'", name,
                     "' has values that are infinite or not a number");
  return writeTensor(executor, entry->tensor, from);
}

} // namespace zc
