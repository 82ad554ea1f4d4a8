#include "runtime/Device/Cpu/Executables.h"
#include "kernels/Cpu/Primitive.h"

#include <cstring>

namespace zc::cpu {
namespace {

// Waking a team costs some microseconds; one core moves this much meanwhile.
constexpr double kBytesWorthATeam = 64 * 1024;

class KernelExecutable final : public CpuExecutable {
public:
  KernelExecutable(const KernelLaunch &launch, kernels::RangeFunction function,
                   int threads)
      : buffers(launch.buffers), function(function), grid(launch.grid),
        threads(launch.bytes > 0 && launch.bytes < kBytesWorthATeam ? 1
                                                                    : threads) {
  }

  Status run() override {
    kernels::parallelFor(grid, threads, function, buffers.data());
    return Status();
  }

private:
  std::vector<void *> buffers;
  kernels::RangeFunction function;
  int64_t grid;
  int threads;
};

class PrimitiveExecutable final : public CpuExecutable {
public:
  PrimitiveExecutable(std::unique_ptr<kernels::Primitive> primitive,
                      std::vector<void *> operands, void *workspace)
      : primitive(std::move(primitive)), operands(std::move(operands)),
        workspace(workspace) {}

  Status run() override {
    std::string error;
    if (!primitive->execute(operands.data(), workspace, &error))
      return Status(StatusCode::Internal, error);
    return Status();
  }

private:
  std::unique_ptr<kernels::Primitive> primitive;
  std::vector<void *> operands;
  void *workspace;
};

class CopyExecutable final : public CpuExecutable {
public:
  CopyExecutable(const CopyLaunch &launch, const OffloadFile *file)
      : launch(launch), file(file) {}

  Status run() override {
    if (file && file->contains(launch.destination))
      return file->write(launch.destination, launch.source, launch.bytes);
    if (file)
      return file->read(launch.destination, launch.source, launch.bytes);
    std::memmove(launch.destination, launch.source, launch.bytes);
    return Status();
  }

private:
  CopyLaunch launch;
  const OffloadFile *file; // that one side lies in; null: neither does
};

ExecutableResult wrap(std::unique_ptr<kernels::Primitive> primitive,
                      std::vector<void *> operands, void *workspace,
                      const std::string &error) {
  if (!primitive)
    return Status(StatusCode::ResourceExhausted, error);
  return std::unique_ptr<Executable>(std::make_unique<PrimitiveExecutable>(
      std::move(primitive), std::move(operands), workspace));
}

} // namespace

ExecutableResult makeKernel(const KernelLaunch &launch, const CodeObject *code,
                            int threads) {
  if (!code)
    return makeError(StatusCode::Corrupt, "kernel '", launch.symbol,
                     "' is called but there is no code object");
  ZC_ASSIGN_OR_RETURN(kernels::RangeFunction function, code->find(launch));
  return std::unique_ptr<Executable>(
      std::make_unique<KernelExecutable>(launch, function, threads));
}

ExecutableResult makeMatmul(const MatmulLaunch &launch) {
  if (!launch.spec.epilogue.isEmpty())
    return makeError(StatusCode::Unsupported,
                     "a product with an epilogue is "
                     "for GPUs; compile the model with --target cpu");
  std::string error;
  auto primitive =
      kernels::createMatmul(launch.spec, launch.workspaceBytes, &error);
  return wrap(std::move(primitive), {launch.a, launch.b, launch.c},
              launch.workspace, error);
}

ExecutableResult makeConvolution(const ConvolutionLaunch &launch) {
  std::string error;
  auto primitive =
      kernels::createConvolution(launch.spec, launch.workspaceBytes, &error);
  return wrap(std::move(primitive),
              {launch.source, launch.filter, launch.destination},
              launch.workspace, error);
}

ExecutableResult makeAttention(const AttentionLaunch &launch) {
  if (launch.spec.type != kernels::ElementType::F32)
    return makeError(StatusCode::Unsupported,
                     "attention in 16 bits is for "
                     "GPUs; compile the model with --target cpu");
  std::string error;
  auto primitive =
      kernels::createAttention(launch.spec, launch.workspaceBytes, &error);
  return wrap(std::move(primitive), launch.buffers, launch.workspace, error);
}

ExecutableResult makeSparse(const SparseLaunch &launch) {
  std::string error;
  auto primitive = kernels::createSparse(launch.spec, &error);
  return wrap(std::move(primitive),
              {launch.dense, launch.bits, launch.offsets, launch.values},
              nullptr, error);
}

ExecutableResult makeCopy(const CopyLaunch &launch, const OffloadFile *file) {
  return std::unique_ptr<Executable>(
      std::make_unique<CopyExecutable>(launch, file));
}

} // namespace zc::cpu
