// The machine code of an artifact that this machine runs.
#ifndef ZC_RUNTIME_EXEC_LOADCODE_H
#define ZC_RUNTIME_EXEC_LOADCODE_H

#include "runtime/Device/Device.h"
#include "runtime/Plan/Artifact.h"

#include <memory>
#include <vector>

namespace zc {

/// Loads the code object that needs most of those that this machine can run;
/// nothing if there is none at all. Fails where there are only others, and says
/// what each of them needs.
Status
loadBestCode(Device &device, const Artifact &artifact,
             const google::protobuf::RepeatedPtrField<plan::CodeObject> &code);

/// The processor that feeds the device, with its code; null if no program has
/// work for it.
Result<std::unique_ptr<Device>>
openHost(const Artifact &artifact,
         const std::vector<const plan::Program *> &programs, int threads);

} // namespace zc

#endif // ZC_RUNTIME_EXEC_LOADCODE_H
