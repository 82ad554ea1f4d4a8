// Lists of kinds of library calls.
#ifndef ZC_KERNELS_CALLS_CALLLIST_H
#define ZC_KERNELS_CALLS_CALLLIST_H

namespace zc::kernels {

template <typename... Calls> struct CallList {};

} // namespace zc::kernels

#endif // ZC_KERNELS_CALLS_CALLLIST_H
