#include "runtime/Device/Cuda/CudaDevice.h"
#include "runtime/Device/Cuda/Library.h"
#include "runtime/Device/Cuda/MatmulForm.h"
#include "test/unit/runtime/Device/Cuda/FakeDriver.h"
#include "test/unit/runtime/Device/Cuda/PtxValues.h"

#include <cstdlib>
#include <cstring>
#include <future>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>

namespace zc {
namespace {

/// The kernel `k` of two teams of 64 threads on buffers of 512 and 256 bytes.
constexpr const char *kPtx =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .global .align 8 .b8 k_signature[40] = {2, 0, 0, 0, 0, 0, 0, 0, "
    "64, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, "
    "0, 1};\n"
    ".visible .entry k(\n\t.param .u64 .ptr .align 64 k_param_0,\n"
    "\t.param .u64 .ptr .align 64 k_param_1\n)\n{\n\tret;\n}\n";

/// The fake is found under the driver's name, and set by variables that each
/// test leaves as they were.
class CudaDeviceTest : public ::testing::Test {
protected:
  void SetUp() override { zcFakeCudaForget(); }
  void TearDown() override {
    for (const char *name :
         {"ZC_FAKE_CUDA_FAIL", "ZC_FAKE_CUDA_ARCH", "ZC_FAKE_CUDA_GPUS",
          "ZC_FAKE_CUDA_MEMORY", "ZC_FAKE_CUDA_PINNED"})
      ::unsetenv(name);
  }

  void open() {
    auto created = cuda::createCudaDevice({});
    ASSERT_TRUE(created.ok()) << created.status().message();
    device = std::move(*created);
    zcFakeCudaForget();
  }

  std::string messageOfOpening() {
    auto created = cuda::createCudaDevice({});
    return created.ok() ? "" : created.status().message();
  }

  KernelLaunch kernel() { return {"k", {memory, memory}, {512, 256}, 2, 0}; }

  std::unique_ptr<Device> device;
  char memory[512] = {};
};

void expectHas(const std::string &text, const std::string &part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

TEST_F(CudaDeviceTest, DescribesTheGpu) {
  open();
  EXPECT_EQ(device->description(), "Fake GPU, sm_90");
  EXPECT_EQ(device->compileAdvice(), "zc compile --target cuda:sm_90");
}

TEST_F(CudaDeviceTest, NoGpuIsAMessage) {
  ::setenv("ZC_FAKE_CUDA_GPUS", "0", 1);
  expectHas(messageOfOpening(), "finds no GPU");
  ::setenv("ZC_FAKE_CUDA_GPUS", "1", 1);
  ::setenv("ZC_FAKE_CUDA_FAIL", "cuInit:1:100", 1);
  expectHas(messageOfOpening(), "finds no GPU");
}

TEST_F(CudaDeviceTest, CodeRunsOnItsGenerationAndPtxOnNewerOnes) {
  ::setenv("ZC_FAKE_CUDA_ARCH", "89", 1);
  open();
  EXPECT_TRUE(device->checkFeatures({"compute_80"}).ok());
  EXPECT_TRUE(device->checkFeatures({"compute_80", "sm_80"}).ok());
  expectHas(device->checkFeatures({"compute_90", "sm_90"}).message(),
            "it needs a GPU of sm_90 or newer; this is Fake GPU, sm_89");
  expectHas(device->checkFeatures({"avx2"}).message(), "'avx2'");
}

TEST_F(CudaDeviceTest, OutOfMemorySaysWhatIsFree) {
  ::setenv("ZC_FAKE_CUDA_MEMORY", "1000", 1);
  open();
  auto region = Region::allocate(*device, 4096);
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.status().code(), StatusCode::ResourceExhausted);
  expectHas(region.status().message(),
            "the plan needs 4096 bytes on the GPU, but Fake GPU has 1000 of "
            "its 1000 bytes free");
}

TEST_F(CudaDeviceTest, CopiesGoThroughTwoPinnedBuffers) {
  open();
  const uint64_t bytes = (20u << 20) + 5; // three parts
  auto region = Region::allocate(*device, bytes);
  ASSERT_TRUE(region.ok());
  std::vector<char> there(bytes), back(bytes);
  std::iota(there.begin(), there.end(), char(1));
  zcFakeCudaForget();
  ASSERT_TRUE(device->copyIn(region->base(), there.data(), bytes, 0).ok());
  EXPECT_STREQ(zcFakeCudaCalls(), "cuMemHostAlloc 8388608\n"
                                  "cuMemHostAlloc 8388608\n"
                                  "cuMemcpyHtoDAsync 8388608 stream 0\n"
                                  "cuEventRecord event 0 stream 0\n"
                                  "cuMemcpyHtoDAsync 8388608 stream 0\n"
                                  "cuEventRecord event 1 stream 0\n"
                                  "cuEventSynchronize event 0\n"
                                  "cuMemcpyHtoDAsync 4194309 stream 0\n"
                                  "cuEventRecord event 0 stream 0\n");
  ASSERT_TRUE(device->copyOut(back.data(), region->base(), bytes, 0).ok());
  EXPECT_EQ(there, back);
}

TEST_F(CudaDeviceTest, WhatIsOffloadedIsPinnedMemoryOfTheHost) {
  open();
  auto here = Region::allocate(*device, 64);
  auto there = Region::allocateOffloaded(*device, 64, "");
  ASSERT_TRUE(here.ok() && there.ok());
  EXPECT_EQ(std::string(there->base(), 64), std::string(64, '\0'));
  std::string bytes(64, 'x'), back(64, '\0');
  ASSERT_TRUE(device->copyIn(there->base(), bytes.data(), 64, 0).ok());
  auto fetch = device->prepare(CopyLaunch{there->base(), here->base(), 64});
  auto store =
      device->prepare(CopyLaunch{here->base(), there->base() + 32, 32});
  ASSERT_TRUE(fetch.ok() && store.ok());
  zcFakeCudaForget();
  ASSERT_TRUE(device->launch(**fetch, 2).ok());
  ASSERT_TRUE(device->launch(**store, 2).ok());
  EXPECT_STREQ(zcFakeCudaCalls(), "cuMemcpyHtoDAsync 64 stream 2\n"
                                  "cuMemcpyDtoHAsync 32 stream 2\n");
  ASSERT_TRUE(device->copyOut(back.data(), here->base(), 64, 0).ok());
  EXPECT_EQ(back, bytes);
}

/// A processor whose work a test says.
class Host final : public Device {
public:
  struct Work final : Executable {
    explicit Work(std::function<Status()> run) : run(std::move(run)) {}
    std::function<Status()> run;
  };

  std::string description() const override { return "a host"; }
  Result<void *> allocate(uint64_t) override { return unsupported(); }
  void release(void *, uint64_t) override {}
  Status checkFeatures(const std::vector<std::string> &) const override {
    return Status();
  }
  Status loadCode(const CodeImage &) override { return Status(); }
  Result<std::unique_ptr<Executable>> prepare(const Launch &) override {
    return unsupported();
  }
  Status launch(Executable &executable, StreamId) override {
    return static_cast<Work &>(executable).run();
  }
  Status copyIn(void *, const void *, uint64_t, StreamId) override {
    return unsupported();
  }
  Status copyOut(void *, const void *, uint64_t, StreamId) override {
    return unsupported();
  }
  Result<EventId> createEvent() override { return unsupported(); }
  Status record(EventId, StreamId) override { return unsupported(); }
  Status wait(EventId, StreamId) override { return unsupported(); }
  Status synchronize(StreamId) override { return Status(); }

private:
  static Status unsupported() {
    return Status(StatusCode::Unsupported, "no test asks for it");
  }
};

TEST_F(CudaDeviceTest, TheHostWorksInTheOrderOfStreams) {
  open();
  auto there = Region::allocateOffloaded(*device, 128, "");
  ASSERT_TRUE(there.ok());
  auto store = device->prepare(CopyLaunch{memory, there->base(), 64});
  auto fetch = device->prepare(CopyLaunch{there->base() + 64, memory, 64});
  ASSERT_TRUE(store.ok() && fetch.ok());
  Host host;
  Status found;
  char *base = there->base();
  auto work = device->onStreams(host, std::make_unique<Host::Work>([&] {
                                  for (int i = 0; i < 64; ++i)
                                    base[64 + i] = char(base[i] + 1);
                                  return found;
                                }));
  ASSERT_TRUE(work.ok());
  std::memset(memory, 7, 64);
  zcFakeCudaForget();
  ASSERT_TRUE(device->beginCapture().ok());
  for (Executable *each : {&**store, &**work, &**fetch})
    ASSERT_TRUE(device->launch(*each, 0).ok());
  auto graph = device->endCapture();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(memory[0], 7) << "captured work is not done yet";
  ASSERT_TRUE(device->launch(**graph, 0).ok());
  ASSERT_TRUE(device->synchronize(0).ok());
  EXPECT_EQ(memory[63], 8);
  expectHas(zcFakeCudaCalls(), "cuMemcpyDtoHAsync 64 stream 0\n"
                               "cuLaunchHostFunc stream 0\n"
                               "cuMemcpyHtoDAsync 64 stream 0\n");
  found = Status(StatusCode::Internal, "a kernel that fails");
  ASSERT_TRUE(device->launch(**graph, 0).ok());
  expectHas(device->synchronize(0).message(),
            "on the host: a kernel that fails");
  ASSERT_TRUE(device->synchronize(0).ok()) << "it is told once";
}

TEST_F(CudaDeviceTest, AHostThatCannotPinSaysSo) {
  ::setenv("ZC_FAKE_CUDA_PINNED", "1000", 1);
  open();
  auto region = Region::allocateOffloaded(*device, 4096, "");
  ASSERT_FALSE(region.ok());
  EXPECT_EQ(region.status().code(), StatusCode::ResourceExhausted);
  expectHas(region.status().message(),
            "keeps 4096 bytes in this machine's memory");
  expectHas(region.status().message(), "--offload");
}

TEST_F(CudaDeviceTest, LimitsAreThoseOfACopy) {
  open();
  auto limits = device->measureLimits();
  ASSERT_TRUE(limits.ok()) << limits.status().message();
  EXPECT_GT(limits->bytesPerSecond, 0);
  expectHas(zcFakeCudaCalls(), "cuMemcpyDtoDAsync 134217728 stream 0\n");
  ::setenv("ZC_FAKE_CUDA_MEMORY", "1000", 1);
  open();
  limits = device->measureLimits();
  ASSERT_TRUE(limits.ok()) << limits.status().message();
  EXPECT_EQ(limits->bytesPerSecond, 0);
}

TEST_F(CudaDeviceTest, AProgramIsOneGraph) {
  open();
  ASSERT_TRUE(device->loadCode({"code/sm_80.ptx", kPtx}).ok());
  auto kernelOf = device->prepare(kernel());
  ASSERT_TRUE(kernelOf.ok()) << kernelOf.status().message();
  auto copy = device->prepare(CopyLaunch{memory, memory + 256, 256});
  ASSERT_TRUE(copy.ok());
  std::memset(memory, 7, 256);
  zcFakeCudaForget();
  ASSERT_TRUE(device->beginCapture().ok());
  ASSERT_TRUE(device->launch(**kernelOf, 0).ok());
  ASSERT_TRUE(device->launch(**copy, 0).ok());
  auto graph = device->endCapture();
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(memory[300], 0) << "a captured copy is not done yet";
  ASSERT_TRUE(device->launch(**graph, 0).ok());
  ASSERT_TRUE(device->synchronize(0).ok());
  EXPECT_EQ(memory[300], 7);
  EXPECT_STREQ(zcFakeCudaCalls(),
               "cuStreamBeginCapture stream 0\n"
               "cuLaunchKernel k grid 2 threads 64 stream 0\n"
               "cuMemcpyDtoDAsync 256 stream 0\n"
               "cuStreamEndCapture stream 0\n"
               "cuGraphInstantiate\n"
               "cuGraphLaunch stream 0\n"
               "cuStreamSynchronize stream 0\n");
}

TEST_F(CudaDeviceTest, StreamsWaitForEvents) {
  open();
  auto event = device->createEvent();
  ASSERT_TRUE(event.ok());
  ASSERT_TRUE(device->record(*event, 0).ok());
  ASSERT_TRUE(device->wait(*event, 1).ok());
  std::string calls = zcFakeCudaCalls();
  expectHas(calls, "stream 0\ncuStreamWaitEvent stream 1 event ");
}

TEST_F(CudaDeviceTest, AnEventPassesThoughItsStreamIsNotIdle) {
  open();
  auto first = device->addStream(), second = device->addStream();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, 5u);
  EXPECT_EQ(*second, 6u);
  void *native = *device->nativeStream(*first);
  EXPECT_NE(native, *device->nativeStream(*second));
  std::promise<void> early, late;
  auto waitFor = [&](std::promise<void> &promise) {
    test::enqueueFakeMeeting(native, "wait",
                             [&promise] { promise.get_future().wait(); });
  };
  EventId before = *device->createEvent(), after = *device->createEvent();
  waitFor(early);
  ASSERT_TRUE(device->record(before, *first).ok());
  waitFor(late);
  ASSERT_TRUE(device->record(after, *first).ok());
  EXPECT_FALSE(*device->hasPassed(before));
  early.set_value();
  while (!*device->hasPassed(before))
    std::this_thread::yield();
  EXPECT_FALSE(*device->hasPassed(after));
  EXPECT_FALSE(*device->isIdle(*first));
  EXPECT_TRUE(*device->isIdle(*second));
  late.set_value();
  ASSERT_TRUE(device->synchronize(*first).ok());
  EXPECT_TRUE(*device->hasPassed(after));
  expectHas(zcFakeCudaCalls(), " stream 5\ncuEventQuery event ");
  ::setenv("ZC_FAKE_CUDA_FAIL", "cuEventQuery:1:719", 1);
  expectHas(device->hasPassed(after).status().message(),
            "the GPU failed: cuEventQuery: fake error 719");
}

TEST_F(CudaDeviceTest, KernelsAreCalledAsTheyWereCompiled) {
  open();
  expectHas(device->prepare(kernel()).status().message(),
            "there is no code object");
  ASSERT_TRUE(device->loadCode({"code/sm_80.ptx", kPtx}).ok());
  KernelLaunch launch = kernel();
  launch.grid = 3;
  expectHas(device->prepare(launch).status().message(),
            "over a grid of 3; its grid is 2");
  launch = kernel();
  launch.bufferBytes[1] = 255;
  expectHas(device->prepare(launch).status().message(),
            "its buffer 1 has 256 bytes, not 255");
  launch = kernel();
  launch.symbol = "other";
  expectHas(device->prepare(launch).status().message(),
            "has no kernel 'other'");
}

TEST_F(CudaDeviceTest, CodeThatDoesNotLoadIsAMessage) {
  open();
  expectHas(device->loadCode({"code/sm_90.cubin", "no code"}).message(),
            "code object 'code/sm_90.cubin' cannot be loaded");
}

TEST_F(CudaDeviceTest, AGpuThatFallsOffSaysHowToGoOn) {
  open();
  ::setenv("ZC_FAKE_CUDA_FAIL", "cuStreamSynchronize:1:719", 1);
  std::string message = device->synchronize(0).message();
  expectHas(message, "the GPU failed: cuStreamSynchronize: fake error 719");
  expectHas(message, "--resume");
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

kernels::StridedTensor tensor(std::vector<int64_t> dims,
                              std::vector<int64_t> strides) {
  return {kernels::ElementType::F32, std::move(dims), std::move(strides)};
}

/// Multiplies small integers by the column-major form, as the library would,
/// and row by row.
void expectEqualProducts(const kernels::MatmulSpec &spec) {
  auto form = cuda::makeForm(spec);
  ASSERT_TRUE(form.ok()) << form.status().message();
  std::vector<double> a(2000), b(2000), c(2000, 0), expected(2000, 0);
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = double(i % 7) - 3;
    b[i] = double(i % 5) - 2;
  }
  auto element = [](const cuda::ColumnMajor &matrix, int64_t row,
                    int64_t column) {
    return matrix.transposed ? column + row * matrix.leading
                             : row + column * matrix.leading;
  };
  for (const auto &call : form->calls)
    for (int64_t i = 0; i < form->batch; ++i)
      for (int64_t m = 0; m < form->m; ++m)
        for (int64_t n = 0; n < form->n; ++n)
          for (int64_t k = 0; k < form->k; ++k)
            c[call.result + i * form->result.batchStride +
              element(form->result, m, n)] +=
                b[call.left + i * form->left.batchStride +
                  element(form->left, m, k)] *
                a[call.right + i * form->right.batchStride +
                  element(form->right, k, n)];
  // By the spec's own strides, over all batch indices.
  size_t rank = spec.c.dims.size();
  int64_t batches = 1;
  for (size_t i = 0; i + 2 < rank; ++i)
    batches *= spec.c.dims[i];
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t at[3] = {}, rest = batch;
    const kernels::StridedTensor *all[] = {&spec.a, &spec.b, &spec.c};
    for (size_t i = rank - 2; i > 0; --i) {
      for (int which = 0; which < 3; ++which)
        at[which] += rest % spec.c.dims[i - 1] * all[which]->strides[i - 1];
      rest /= spec.c.dims[i - 1];
    }
    for (int64_t m = 0; m < spec.c.dims[rank - 2]; ++m)
      for (int64_t n = 0; n < spec.c.dims[rank - 1]; ++n)
        for (int64_t k = 0; k < spec.a.dims[rank - 1]; ++k)
          expected[at[2] + m * spec.c.strides[rank - 2] +
                   n * spec.c.strides[rank - 1]] +=
              a[at[0] + m * spec.a.strides[rank - 2] +
                k * spec.a.strides[rank - 1]] *
              b[at[1] + k * spec.b.strides[rank - 2] +
                n * spec.b.strides[rank - 1]];
  }
  EXPECT_EQ(c, expected);
}

TEST(MatmulForm, TransposesAreLeadingDims) {
  for (bool ta : {false, true})
    for (bool tb : {false, true})
      expectEqualProducts({ta ? tensor({3, 4}, {1, 3}) : tensor({3, 4}, {4, 1}),
                           tb ? tensor({4, 5}, {1, 4}) : tensor({4, 5}, {5, 1}),
                           tensor({3, 5}, {5, 1}), false});
}

TEST(MatmulForm, DimsOfOneHaveAnyStride) {
  expectEqualProducts({tensor({1, 4}, {4, 1}), tensor({4, 1}, {1, 1}),
                       tensor({1, 1}, {1, 1}), false});
  expectEqualProducts({tensor({3, 1}, {1, 1}), tensor({1, 5}, {5, 1}),
                       tensor({3, 5}, {5, 1}), false});
}

TEST(MatmulForm, BatchesAreOneStrideOrSeveralCalls) {
  kernels::MatmulSpec spec = {tensor({2, 3, 4, 5}, {60, 20, 5, 1}),
                              tensor({2, 3, 5, 6}, {90, 30, 6, 1}),
                              tensor({2, 3, 4, 6}, {72, 24, 6, 1}), false};
  EXPECT_EQ(cuda::makeForm(spec)->calls.size(), 1u);
  EXPECT_EQ(cuda::makeForm(spec)->batch, 6);
  expectEqualProducts(spec);
  // Heads behind the sequence, as attention has them: [batch, heads] of
  // [batch, sequence, heads, width].
  spec.a = tensor({2, 3, 4, 5}, {60, 5, 15, 1});
  EXPECT_EQ(cuda::makeForm(spec)->calls.size(), 2u);
  expectEqualProducts(spec);
}

//===----------------------------------------------------------------------===//
// The fake itself
//===----------------------------------------------------------------------===//

TEST(PtxValues, HalvesAreRoundedToNearestEven) {
  for (int bits = 0; bits < 65536; ++bits) {
    float value = test::widenHalf(uint16_t(bits));
    if (value == value)
      ASSERT_EQ(test::narrowHalf(value), bits);
  }
  const std::pair<float, int> known[] = {{0.1f, 0x2e66},
                                         {-0.3f, 0xb4cd},
                                         {1e-5f, 0xa8},
                                         {3e-8f, 1},
                                         {65519.0f, 0x7bff},
                                         {65520.0f, 0x7c00},
                                         {1.00048828125f, 0x3c00},
                                         {1.00146484375f, 0x3c02}};
  for (auto [value, bits] : known)
    EXPECT_EQ(test::narrowHalf(value), bits) << value;
}

TEST(CudaLibrary, SaysWhereItLooked) {
  auto opened = cuda::openLibrary("libzc_no_such_library.so.1");
  ASSERT_FALSE(opened.ok());
  expectHas(opened.status().message(), "libzc_no_such_library.so.1");
  expectHas(opened.status().message(), "/usr/local/cuda/lib64");
  expectHas(opened.status().message(), "ZC_CUDA_LIBRARY_PATH");
}

} // namespace
} // namespace zc
