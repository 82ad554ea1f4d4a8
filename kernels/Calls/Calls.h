// All kinds of library calls, by the rooms that there are in this folder: code
// that must not know kinds one by one asks here.
#ifndef ZC_KERNELS_CALLS_CALLS_H
#define ZC_KERNELS_CALLS_CALLS_H

#include "kernels/Calls/AllCalls.h" // written by CMake: AllCalls, a CallList

#include <type_traits>
#include <variant>

namespace zc::kernels {

template <typename List> struct CallVariants;
template <typename... Calls> struct CallVariants<CallList<Calls...>> {
  using Spec = std::variant<typename Calls::Spec...>;
  using Launch = std::variant<typename Calls::Launch...>;
};

/// The kernel of a call of any kind, and that with addresses.
using CallSpec = CallVariants<AllCalls>::Spec;
using CallLaunch = CallVariants<AllCalls>::Launch;

/// A room's members.
struct CallKind {
  const char *name, *cpuLibrary, *cudaLibrary;
  std::vector<std::string_view> ops, attributes, implied;
  std::vector<CallRate> rates;
  std::string (*check)(const LibraryCall &call);
  CallSpec (*specOf)(const LibraryCall &call);
  CallLaunch (*launch)(const LibraryCall &call, const CallAddresses &addresses);
  CallWork (*workOf)(const LibraryCall &call);
  uint64_t (*cpuWorkspace)(const LibraryCall &call, int threads);
  uint64_t (*cudaWorkspace)(const LibraryCall &call);
};

/// All kinds, in alphabetical order.
const std::vector<CallKind> &getCallKinds();

/// The kind of the calls that compute an op ("conv"), or null. Only a call
/// whose op is of the kind may be given to its members, and only a sound one to
/// members other than `check`.
const CallKind *findCallKind(std::string_view op);

/// "it has an unknown attribute 'x'", or one that is there twice; else empty.
std::string checkAttributes(const CallKind &kind, const LibraryCall &call);

/// Whether one of the kinds in the list has launches of this type.
template <typename Launch, typename List> struct HasLaunch;
template <typename Launch, typename... Calls>
struct HasLaunch<Launch, CallList<Calls...>>
    : std::disjunction<std::is_same<Launch, typename Calls::Launch>...> {};

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_CALLS_H
