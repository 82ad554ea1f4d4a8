#include "runtime/Exec/LoadCode.h"
#include "runtime/Device/Plugin.h"
#include "runtime/Plan/Types.h"
#include "runtime/Plan/Verify.h"

#include <algorithm>

namespace zc {

static std::vector<std::string> featuresOf(const plan::CodeObject &object) {
  return {object.features().begin(), object.features().end()};
}

Status
loadBestCode(Device &device, const Artifact &artifact,
             const google::protobuf::RepeatedPtrField<plan::CodeObject> &code) {
  const plan::CodeObject *best = nullptr;
  std::string refusals;
  for (const plan::CodeObject &object : code) {
    Status status = device.checkFeatures(featuresOf(object));
    if (!status.ok())
      refusals +=
          strCat(refusals.empty() ? "" : "; ", "code for '", object.arch(),
                 "' cannot run here: ", status.message());
    else if (!best || object.features_size() > best->features_size())
      best = &object;
  }
  if (!best)
    return refusals.empty()
               ? Status()
               : makeError(StatusCode::Unsupported, "'", artifact.path(),
                           "': ", refusals,
                           "; compile the model for this machine (",
                           device.compileAdvice(), ")");
  ZC_ASSIGN_OR_RETURN(std::string_view bytes, artifact.code(*best));
  return device.loadCode({best->entry(), bytes});
}

Result<std::unique_ptr<Device>>
openHost(const Artifact &artifact,
         const std::vector<const plan::Program *> &programs, int threads) {
  auto hasWork = [](const plan::Program *program) {
    return std::any_of(program->instructions().begin(),
                       program->instructions().end(), isOnHost);
  };
  if (std::none_of(programs.begin(), programs.end(), hasWork))
    return std::unique_ptr<Device>();
  DeviceOptions options;
  options.threads = threads;
  ZC_ASSIGN_OR_RETURN(std::unique_ptr<Device> host, openDevice("cpu", options));
  ZC_RETURN_IF_ERROR(
      loadBestCode(*host, artifact, artifact.manifest().target().host_code()));
  return host;
}

} // namespace zc
