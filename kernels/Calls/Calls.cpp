#include "kernels/Calls/Calls.h"

#include <algorithm>
#include <iterator>

namespace zc::kernels {
namespace {

template <typename List, typename Each>
void assign(List &list, const Each &values) {
  list.assign(std::begin(values), std::end(values));
}

template <typename Room> CallKind makeKind() {
  CallKind kind;
  kind.name = Room::kName;
  kind.cpuLibrary = Room::kCpuLibrary;
  kind.cudaLibrary = Room::kCudaLibrary;
  assign(kind.ops, Room::kOps);
  assign(kind.attributes, Room::kAttributes);
  assign(kind.implied, Room::kImplied);
  assign(kind.rates, Room::kRates);
  kind.check = &Room::check;
  kind.specOf = [](const LibraryCall &call) -> CallSpec {
    return Room::specOf(call);
  };
  kind.launch = [](const LibraryCall &call,
                   const CallAddresses &addresses) -> CallLaunch {
    return Room::launch(call, addresses);
  };
  kind.workOf = &Room::workOf;
  kind.cpuWorkspace = [](const LibraryCall &call, int threads) -> uint64_t {
    return Room::cpuWorkspace(Room::specOf(call), threads);
  };
  kind.cudaWorkspace = [](const LibraryCall &call) -> uint64_t {
    return Room::cudaWorkspace(Room::specOf(call));
  };
  return kind;
}

template <typename... Rooms>
std::vector<CallKind> makeKinds(CallList<Rooms...>) {
  return {makeKind<Rooms>()...};
}

} // namespace

const std::vector<CallKind> &getCallKinds() {
  static const std::vector<CallKind> kinds = makeKinds(AllCalls());
  return kinds;
}

const CallKind *findCallKind(std::string_view op) {
  for (const CallKind &each : getCallKinds())
    if (std::find(each.ops.begin(), each.ops.end(), op) != each.ops.end())
      return &each;
  return nullptr;
}

std::string checkAttributes(const CallKind &kind, const LibraryCall &call) {
  for (const CallAttribute &each : call.attributes) {
    const auto isNamed = [&](const auto &other) { return other == each.name; };
    const auto isSame = [&](const CallAttribute &other) {
      return other.name == each.name;
    };
    if (std::none_of(kind.attributes.begin(), kind.attributes.end(), isNamed))
      return "it has an unknown attribute '" + each.name + "'";
    if (std::count_if(call.attributes.begin(), call.attributes.end(), isSame) >
        1)
      return "it has the attribute '" + each.name + "' twice";
  }
  return "";
}

} // namespace zc::kernels
