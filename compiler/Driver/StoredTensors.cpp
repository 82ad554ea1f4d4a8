#include "compiler/Driver/StoredTensors.h"

#include "compiler/Export/ExportTypes.h"
#include "compiler/Import/Types.h"
#include "compiler/OnnxModel/StoredModel.h"
#include "dialects/Dist/DistDialect.h"
#include "dialects/Train/TrainDialect.h"
#include "dialects/Train/Versions.h"

#include "llvm/ADT/StringMap.h"

using namespace mlir;
using namespace zc;

// Initializers whose bytes some state has: what is trained or drawn, and what
// is read from the model's files as it is.
static llvm::StringMap<std::string> findStates(ModuleOp module) {
  llvm::StringMap<std::string> keys;
  // Also those that lie in units, in a module of their own.
  module.walk([&](train::StateOp state) {
    if (train::isVersionOfOther(state))
      return;
    bool changes = state.getKind() == train::kParameter ||
                   state.getKind() == train::kStatistic || state.getDraw();
    if (!changes && !state.getSource())
      return;
    std::string key = state.getSymName().str();
    keys[key] = key;
    if (auto aliases = state.getAliases())
      for (StringRef alias : aliases->getAsValueRange<StringAttr>())
        keys[alias] = key;
  });
  return keys;
}

// A tensor that a run changes must have a place in the model, so that zc export
// can write it back.
static Status checkPlaces(ModuleOp module, const std::set<std::string> &placed,
                          const std::string &model) {
  Status status;
  module.walk([&](train::StateOp state) {
    bool changes = state.getKind() == train::kParameter ||
                   state.getKind() == train::kStatistic;
    // The file has the members of a ZeRO unit, and of versions the newest.
    if (train::isVersionOfOther(state) ||
        !dist::getUnitMembers(state->getParentOfType<ModuleOp>(),
                              state.getSymName())
             .empty())
      return;
    if (status.ok() && changes && !placed.count(state.getSymName().str()))
      status = makeError(StatusCode::InvalidArgument, model, ": '",
                         state.getSymName().str(),
                         "' would be trained, but it is no tensor of the file "
                         "that zc export could write; leave it as it is with "
                         "--freeze");
  });
  return status;
}

Status zc::addStoredModel(const std::string &path, AbsentData absent,
                          ExportInput &input) {
  auto fail = [&](llvm::Error error) {
    return makeError(StatusCode::InvalidArgument, input.modelName, ": ",
                     llvm::toString(std::move(error)));
  };
  llvm::Expected<ModelFile> file = readModelFile(path, absent);
  if (!file)
    return fail(file.takeError());
  llvm::StringMap<std::string> states = findStates(input.module);
  auto stored = makeStoredModel(
      std::move(*file), [&](StringRef name) { return states.lookup(name); });
  if (!stored)
    return fail(stored.takeError());
  ZC_RETURN_IF_ERROR(
      checkPlaces(input.module, stored->placed, input.modelName));
  input.model = std::move(stored->graph);
  for (const ModelTensor &tensor : stored->tensors) {
    StoredTensor &entry = input.tensors.emplace_back();
    entry.name = tensor.key;
    entry.type = getTensorType(RankedTensorType::get(
        tensor.dims,
        convertElementType(input.module->getContext(), tensor.dataType)));
    entry.file = tensor.source.file;
    entry.offset = tensor.source.offset;
    entry.length = tensor.source.length;
    entry.transposed = tensor.source.transposed;
  }
  return Status();
}
