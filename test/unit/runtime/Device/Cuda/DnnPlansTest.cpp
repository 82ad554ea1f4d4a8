// Asks the real cuDNN for plans of our graphs, for GPUs that are
// only described. A graph that it refuses here it would refuse on
// the GPU.
#include "runtime/Device/Cuda/CudaCalls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

namespace zc::cuda {
namespace {

using kernels::ConvolutionKind;
using kernels::ElementType;
using kernels::PoolingKind;
using Numbers = std::vector<int64_t>;

struct Gpu {
  const char *name;
  int version, processors, sharedMemory;
};

/// A GPU's properties in the library's format; plans depend on those here.
std::string describe(const Gpu &gpu, size_t libraryVersion) {
  return strCat(
      R"({"cudnnVersion":)", libraryVersion, R"(,"schemaVersion":1,)",
      R"("deviceName":")", gpu.name, R"(","cudaDeviceId":0,"deviceVer":)",
      gpu.version, R"(,"driverVer":13000,"isTccDriver":0,)",
      R"("l2CacheSize":41943040,"maxCtasPerSM":32,"maxRegistersPerSM":65536,)",
      R"("maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":)",
      gpu.sharedMemory, R"(,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,)",
      R"("memClockRateKHz":1593000,"memoryBusWidth":5120,)",
      R"("oversizedSharedMemoryPerBlock":0,"multiProcessorCount":)",
      gpu.processors, R"(,"pciDeviceId":0,"regsPerBlock":65536,)",
      R"("reservedSharedMemoryPerBlock":1024,"smClockRateKHz":1410000,)",
      R"("supportCoopLaunch":1,"totalGlobalMem":85899345920,"warpSize":32,)",
      R"("maxBlockSize":[1024,1024,64],)",
      R"("maxGridSize":[2147483647,65535,65535]})");
}

class DnnPlansTest : public ::testing::TestWithParam<Gpu> {
protected:
  /// The stand-in has the driver's name: the library finds it opened.
  void SetUp() override {
    bool opened = dlopen("libcuda.so.1", RTLD_NOW) ||
                  dlopen(ZC_STAND_IN_DRIVER, RTLD_NOW);
    ASSERT_TRUE(opened) << dlerror();
    size_t version = CUDNN_VERSION;
    auto dnn = Dnn::openDescribed(describe(GetParam(), version));
    if (!dnn.ok())
      GTEST_SKIP() << "cuDNN " << CUDNN_MAJOR << "." << CUDNN_MINOR
                   << " makes no plans here: " << dnn.status().message();
    libraries = std::make_unique<LibraryHandles>(
        std::make_unique<DnnPlans>(std::move(*dnn)));
    plans = *libraries->dnn();
  }

  void expectPlan(const ExecutableResult &made, uint64_t workspaceBytes) {
    ASSERT_TRUE(made.ok()) << GetParam().name << ": "
                           << made.status().message();
    EXPECT_LE(plans->lastWorkspaceBytes(), workspaceBytes);
  }

  /// Nothing is computed: any address of a multiple of 16 will do.
  void *place() { return reinterpret_cast<void *>(uintptr_t(4096)); }

  void attention(kernels::AttentionSpec spec) {
    for (bool backward : {false, true}) {
      spec.backward = backward;
      kernels::AttentionLaunch launch = {};
      launch.spec = spec;
      launch.buffers.assign(9, place());
      launch.workspace = place();
      launch.workspaceBytes = kernels::AttentionCall::cudaWorkspace(spec);
      expectPlan(makeCall(*libraries, launch), launch.workspaceBytes);
    }
  }

  static Numbers stridesOf(const Numbers &dims, bool channelsLast) {
    Numbers strides(dims.size(), 1);
    int64_t step = channelsLast ? dims[1] : 1;
    for (size_t i = dims.size(); i-- > 2;) {
      strides[i] = step;
      step *= dims[i];
    }
    strides[1] = channelsLast ? 1 : step;
    strides[0] = channelsLast ? step : step * dims[1];
    return strides;
  }

  struct Images {
    int64_t samples, channels, filters, size, window, stride, pad, groups = 1;
    int64_t padMore = 0; // at the end
    int64_t results() const {
      return (size + 2 * pad + padMore - window) / stride + 1;
    }
  };

  /// Operands as the compiler lays them out: images channels last, filters not.
  void convolutions(const Images &images, ElementType type,
                    size_t spatial = 2) {
    kernels::ConvolutionSpec spec;
    auto tensor = [&](Numbers dims, int64_t size, bool channelsLast) {
      dims.insert(dims.end(), spatial, size);
      return kernels::StridedTensor{type, dims, stridesOf(dims, channelsLast)};
    };
    spec.source = tensor({images.samples, images.channels}, images.size, true);
    spec.filter = tensor({images.filters, images.channels / images.groups},
                         images.window, false);
    spec.destination =
        tensor({images.samples, images.filters}, images.results(), true);
    spec.strides.assign(spatial, images.stride);
    spec.dilations.assign(spatial, 1);
    spec.padsLow.assign(spatial, images.pad);
    spec.padsHigh.assign(spatial, images.pad + images.padMore);
    spec.groups = images.groups;
    for (ConvolutionKind kind :
         {ConvolutionKind::Forward, ConvolutionKind::BackwardInput,
          ConvolutionKind::BackwardFilter}) {
      spec.kind = kind;
      kernels::ConvolutionLaunch launch = {};
      launch.spec = spec;
      launch.source = launch.filter = launch.destination = launch.workspace =
          place();
      launch.workspaceBytes = kernels::ConvolutionCall::cudaWorkspace(spec);
      expectPlan(makeCall(*libraries, launch), launch.workspaceBytes);
    }
  }

  void pooling(const Images &images, ElementType type, bool channelsLast,
               size_t spatial = 2) {
    kernels::PoolingLaunch launch = {};
    auto tensor = [&](int64_t size) {
      Numbers dims = {images.samples, images.channels};
      dims.insert(dims.end(), spatial, size);
      return kernels::StridedTensor{type, dims, stridesOf(dims, channelsLast)};
    };
    launch.spec.image = tensor(images.size);
    launch.spec.pooled = tensor(images.results());
    launch.spec.window.assign(spatial, images.window);
    launch.spec.strides.assign(spatial, images.stride);
    launch.spec.padsLow.assign(spatial, images.pad);
    launch.spec.padsHigh.assign(spatial, images.pad + images.padMore);
    launch.image = launch.pooled = place();
    for (PoolingKind kind : {PoolingKind::Maximum, PoolingKind::Average,
                             PoolingKind::AverageGradient}) {
      launch.spec.kind = kind;
      // The compiler sets it only where there is padding.
      launch.spec.countIncludePad = channelsLast && images.pad > 0;
      expectPlan(makeCall(*libraries, launch), 0);
    }
  }

  /// The norm, with and without an addend, and the gradients.
  void norms(const Numbers &dims, ElementType type) {
    kernels::NormLaunch launch = {};
    launch.spec.image = {type, dims, stridesOf(dims, true)};
    launch.spec.epsilon = 1e-5;
    for (void **address :
         {&launch.image, &launch.scale, &launch.bias, &launch.mean,
          &launch.inverse, &launch.result, &launch.workspace, &launch.addend,
          &launch.grad, &launch.scaleGrad, &launch.biasGrad})
      *address = place();
    launch.workspaceBytes = kernels::NormCall::cudaWorkspace(launch.spec);
    for (bool addend : {false, true}) {
      launch.spec.addend = addend;
      expectPlan(makeCall(*libraries, launch), launch.workspaceBytes);
    }
    launch.spec.addend = false;
    launch.spec.backward = true;
    expectPlan(makeCall(*libraries, launch), launch.workspaceBytes);
  }

  std::unique_ptr<LibraryHandles> libraries;
  DnnPlans *plans = nullptr; // cuDNN's, among those
};

kernels::AttentionSpec makeAttentionSpec(int64_t batch, int64_t queries,
                                         int64_t keys, int64_t heads,
                                         int64_t width, bool causal,
                                         ElementType type) {
  kernels::AttentionSpec spec;
  spec.batch = batch;
  spec.queries = queries;
  spec.keys = keys;
  spec.heads = heads;
  spec.width = width;
  spec.scale = 0.125;
  spec.causal = causal;
  spec.type = type;
  return spec;
}

TEST_P(DnnPlansTest, AttentionOfGpt2) {
  attention(makeAttentionSpec(32, 1024, 1024, 12, 64, true, ElementType::BF16));
}

TEST_P(DnnPlansTest, AttentionOfWideHeads) {
  attention(makeAttentionSpec(4, 2048, 2048, 16, 128, true, ElementType::F16));
}

TEST_P(DnnPlansTest, AttentionOfAnyNumberOfTokens) {
  if (plans->library().cudnnGetVersion() <= 91500)
    GTEST_SKIP() << "versions up to 9.15 need multiples of 128";
  attention(makeAttentionSpec(2, 197, 50, 3, 8, false, ElementType::BF16));
  attention(makeAttentionSpec(2, 5, 5, 3, 40, true, ElementType::BF16));
}

TEST_P(DnnPlansTest, ConvolutionsOfResNet) {
  for (ElementType type : {ElementType::BF16, ElementType::F16})
    for (const Images &images :
         {Images{256, 3, 64, 224, 7, 2, 3}, Images{256, 64, 64, 56, 3, 1, 1},
          Images{256, 128, 128, 56, 3, 2, 1},
          Images{256, 256, 512, 56, 1, 2, 0},
          Images{256, 512, 2048, 7, 1, 1, 0}})
      convolutions(images, type);
}

TEST_P(DnnPlansTest, ConvolutionsInFloat32AreExact) {
  convolutions({8, 3, 10, 28, 5, 1, 2}, ElementType::F32);
  convolutions({8, 64, 64, 14, 3, 1, 1}, ElementType::F32);
  // Copies of all images would take 1.6 GB.
  convolutions({64, 64, 64, 224, 3, 1, 1}, ElementType::F32);
  EXPECT_GT(plans->lastWorkspaceBytes(), 0u);
}

TEST_P(DnnPlansTest, ConvolutionsOfFewChannelsAndOfGroups) {
  convolutions({3, 1, 6, 28, 5, 1, 0}, ElementType::BF16);
  convolutions({8, 32, 32, 28, 3, 1, 1, 32}, ElementType::BF16);
  convolutions({8, 32, 64, 28, 3, 2, 1, 4}, ElementType::BF16);
}

// Padding of images that a stride halves, as in TensorFlow.
TEST_P(DnnPlansTest, ConvolutionsPaddedMoreAtTheEnd) {
  convolutions({8, 64, 64, 56, 3, 2, 0, 1, 1}, ElementType::BF16);
  convolutions({8, 96, 96, 112, 5, 2, 1, 96, 1}, ElementType::BF16);
  convolutions({8, 3, 32, 224, 3, 2, 0, 1, 1}, ElementType::F32);
  convolutions({2, 8, 16, 12, 3, 2, 0, 1, 1}, ElementType::F16, 3);
}

TEST_P(DnnPlansTest, ConvolutionsOfVolumes) {
  convolutions({2, 8, 16, 12, 3, 1, 1}, ElementType::BF16, 3);
}

// The library takes long to plan a pooling, whose code it compiles: not every
// type meets every order of dims.
TEST_P(DnnPlansTest, Pooling) {
  pooling({8, 64, 0, 112, 3, 2, 1}, ElementType::BF16, true);
  pooling({8, 64, 0, 112, 3, 2, 1}, ElementType::F32, false);
  pooling({3, 5, 0, 13, 2, 2, 0, 1, 1}, ElementType::F16, true);
  pooling({8, 64, 0, 56, 1, 2, 0}, ElementType::BF16, true);
  pooling({2, 8, 0, 12, 3, 1, 1}, ElementType::BF16, true, 3);
}

// Many channels, which were seen to need the most workspace; volumes. Each plan
// takes the library half a second.
TEST_P(DnnPlansTest, Norms) {
  norms({359, 1920, 14, 50}, ElementType::BF16);
  norms({2, 24, 5, 7, 8}, ElementType::F16);
}

// The library refuses norms that the compiler leaves to generated kernels.
TEST_P(DnnPlansTest, NormsThatAreLeftOut) {
  for (const Numbers &dims :
       {Numbers{8, 12, 14, 14}, Numbers{4096, 64, 112, 112}}) {
    kernels::NormLaunch launch = {};
    launch.spec.image = {ElementType::BF16, dims, stridesOf(dims, true)};
    launch.workspaceBytes = uint64_t(1) << 40;
    ExecutableResult made = makeCall(*libraries, launch);
    ASSERT_FALSE(made.ok());
    EXPECT_NE(made.status().message().find("--libraries=-cudnn.norm"),
              std::string::npos)
        << made.status().message();
  }
}

INSTANTIATE_TEST_SUITE_P(Gpus, DnnPlansTest,
                         ::testing::Values(Gpu{"A100", 800, 108, 166912},
                                           Gpu{"H200", 900, 132, 232448},
                                           Gpu{"B200", 1000, 148, 232448}),
                         [](const auto &info) {
                           return std::string(info.param.name);
                         });

} // namespace
} // namespace zc::cuda
