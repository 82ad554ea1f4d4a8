#include "runtime/Api/SessionStates.h"
#include "runtime/Io/Convert.h"
#include "runtime/Io/StateTensors.h"
#include "runtime/Plan/Types.h"

namespace zc {

static bool isForCallers(const plan::State &state) {
  return isModelState(state) || state.kind() == plan::OPTIMIZER;
}

SessionStates::SessionStates(Executor &executor) : executor(executor) {
  for (HeldTensor &held :
       tensorsOfRoles(executor.artifact().manifest(), isForCallers))
    add(std::move(held));
  for (const plan::State &state : executor.role().states())
    if (isForCallers(state))
      for (FileTensor &tensor : fileTensorsOf(state))
        entries[numbers.at(tensor.name())].own = std::move(tensor);
}

void SessionStates::add(HeldTensor held) {
  const FileTensor &tensor = held.tensor;
  const size_t number = entries.size();
  numbers.emplace(tensor.name(), number);
  for (const std::string &name :
       tensor.member ? tensor.member->onnx_names() : tensor.state->onnx_names())
    numbers.emplace(name, number);
  Entry entry;
  entry.name = tensor.name();
  entry.dims.assign(tensor.type.dims().begin(), tensor.type.dims().end());
  entry.kind = tensor.state->kind();
  entry.held = std::move(held);
  entries.push_back(std::move(entry));
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

Status SessionStates::check(const std::string &name, uint64_t bytes,
                            const void *values) const {
  ZC_ASSIGN_OR_RETURN(const Entry *entry, find(name));
  ZC_ASSIGN_OR_RETURN(const uint64_t own, byteCount(entry->type()));
  if (own != bytes)
    return makeError(StatusCode::InvalidArgument, "the state '", name, "' is ",
                     printType(entry->type()), ", ", own, " bytes; ", bytes,
                     " were given");
  const auto *from = static_cast<const char *>(values);
  if (from && !allFinite(entry->type().dtype(), {from, bytes}))
    return makeError(StatusCode::InvalidArgument, "'", name,
                     "' has values that are infinite or not a number");
  return Status();
}

Status SessionStates::read(const std::string &name, void *data) {
  ZC_ASSIGN_OR_RETURN(const Entry *entry, find(name));
  return gatherTensor(executor, entry->held, static_cast<char *>(data));
}

Status SessionStates::write(const std::string &name, const void *data) {
  ZC_ASSIGN_OR_RETURN(const Entry *entry, find(name));
  return entry->own ? writeTensor(executor, *entry->own,
                                  static_cast<const char *>(data))
                    : Status();
}

} // namespace zc
