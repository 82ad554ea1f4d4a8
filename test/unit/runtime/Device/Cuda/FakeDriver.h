// What the fake of NVIDIA's driver tells tests, and its fake libraries.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H

#include <functional>
#include <string>

/// The calls so far, a line each, and forgetting them.
extern "C" const char *zcFakeCudaCalls();
extern "C" void zcFakeCudaForget();

namespace zc::test {

/// Does work of a library on a stream (a CUstream), or keeps it for the graph
/// that the stream is captured into, and writes it down.
void enqueueFake(void *stream, const std::string &what,
                 std::function<void()> work);

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H
