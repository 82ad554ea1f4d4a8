// Library calls put together by hand, for tests.
#ifndef ZC_TEST_UNIT_KERNELS_CALLS_CALLBUILDER_H
#define ZC_TEST_UNIT_KERNELS_CALLS_CALLBUILDER_H

#include "kernels/Calls/Calls.h"

#include <gtest/gtest.h>

namespace zc::kernels::test {

/// Changes an attribute of a call, or adds it.
inline void setIntegers(LibraryCall &call, const std::string &name,
                        std::vector<int64_t> integers) {
  for (CallAttribute &each : call.attributes)
    if (each.name == name) {
      each.integers = std::move(integers);
      return;
    }
  call.attributes.push_back({name, std::move(integers), 0, ""});
}

inline void setText(LibraryCall &call, const std::string &name,
                    const std::string &text = "") {
  call.attributes.push_back({name, {}, 0, text});
}

/// Expects that the call is unsound, with `message` in what is said of it.
template <typename Room>
void expectUnsound(const LibraryCall &call, const std::string &message) {
  const std::string error = Room::check(call);
  EXPECT_NE(error, "");
  EXPECT_NE(error.find(message), std::string::npos) << error;
}

/// Expects that neither more nor fewer tensors make a sound call.
template <typename Room> void expectCounts(const LibraryCall &call) {
  LibraryCall more = call, fewer = call, none = call;
  more.outputs.resize(call.outputs.size() + 4);
  fewer.inputs.pop_back();
  none.inputs.clear();
  none.outputs.clear();
  for (const LibraryCall &each : {more, fewer, none})
    EXPECT_NE(Room::check(each), "");
}

} // namespace zc::kernels::test

#endif // ZC_TEST_UNIT_KERNELS_CALLS_CALLBUILDER_H
