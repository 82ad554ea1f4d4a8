#include "runtime/Exec/Instructions.h"
#include "runtime/Plan/LibraryCalls.h"

namespace zc {

static kernels::CallAddresses findAddresses(const AddressMap &map,
                                            const plan::LibraryCall &call) {
  kernels::CallAddresses addresses;
  for (uint32_t index : call.inputs())
    addresses.inputs.push_back(map.address(index));
  for (uint32_t index : call.outputs())
    addresses.outputs.push_back(map.address(index));
  if (call.has_workspace()) {
    addresses.workspace = map.address(call.workspace());
    addresses.workspaceBytes =
        uint64_t(map.buffer(call.workspace()).type().dims(0));
  }
  return addresses;
}

Launch makeLibraryLaunch(const AddressMap &map, const plan::LibraryCall &call) {
  const kernels::CallLaunch launch = kernels::findCallKind(call.op())->launch(
      describeCall(map.getProgram(), call), findAddresses(map, call));
  return std::visit([](const auto &each) -> Launch { return each; }, launch);
}

} // namespace zc
