// The interface of the fake of NVIDIA's driver to tests and fake libraries.
#ifndef ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H
#define ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

/// The calls so far, a line each, and forgetting them.
extern "C" const char *zcFakeCudaCalls();
extern "C" void zcFakeCudaForget();

namespace zc::test {

inline bool isAligned(const void *address, size_t bytes) {
  return reinterpret_cast<uintptr_t>(address) % bytes == 0;
}

/// Does work of a library on a stream (a CUstream), or keeps it for the graph
/// that the stream is captured into, and writes it down.
void enqueueFake(void *stream, const std::string &what,
                 std::function<void()> work);

/// Does as enqueueFake, for work that waits for other ranks.
void enqueueFakeMeeting(void *stream, const std::string &what,
                        std::function<void()> work);

/// Where work on `stream` that is being done is waited for: on the stream of
/// its graph, or there.
void *streamAtWork(void *stream);

/// From now on the stream never gets to an end, or does again.
void hangFake(void *stream, bool hung);

/// The stream that cuDNN was given last, in this thread.
void *dnnStream();

/// Writes a call down; the error that ZC_FAKE_CUDA_FAIL asks of it, or 0.
int noteFake(const std::string &call, const std::string &what);

} // namespace zc::test

#endif // ZC_TEST_UNIT_RUNTIME_DEVICE_CUDA_FAKEDRIVER_H
