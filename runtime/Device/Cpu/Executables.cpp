#include "runtime/Device/Cpu/Executables.h"
#include "kernels/Cpu/Underflow.h"
#include "kernels/Cpu/WorkHint.h"

#include <cstring>

namespace zc::cpu {
namespace {

class KernelExecutable final : public CpuExecutable {
public:
  KernelExecutable(const KernelLaunch &launch, kernels::RangeFunction function,
                   int threads)
      : buffers(launch.buffers), function(function), grid(launch.grid),
        hint(kernels::hintOfKernel(launch.flops, launch.bytes)),
        threads(threads) {}

  Status run() override {
    kernels::HintedWork hinted(hint);
    kernels::parallelFor(grid, threads, function, buffers.data());
    return Status();
  }

private:
  std::vector<void *> buffers;
  kernels::RangeFunction function;
  int64_t grid;
  kernels::WorkHint hint;
  int threads;
};

class PrimitiveExecutable final : public CpuExecutable {
public:
  PrimitiveExecutable(std::unique_ptr<kernels::Primitive> primitive,
                      std::vector<void *> operands, void *workspace,
                      const kernels::WorkHint &hint, std::string theWay)
      : primitive(std::move(primitive)), operands(std::move(operands)),
        workspace(workspace), hint(hint), theWay(std::move(theWay)) {}

  Status run() override {
    kernels::HintedWork hinted(hint);
    kernels::FlushedUnderflow flushed;
    std::string error;
    if (!primitive->execute(operands.data(), workspace, &error))
      return Status(StatusCode::Internal, error);
    return Status();
  }

  std::string way() const override { return theWay; }

private:
  std::unique_ptr<kernels::Primitive> primitive;
  std::vector<void *> operands;
  void *workspace;
  kernels::WorkHint hint;
  std::string theWay;
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

/// "tiles by rule", "library-product, measured".
std::string describeWay(const CallWay &way, const kernels::Primitive &made) {
  if (way.isMeasured)
    return strCat(nameOf(way.way), ", measured");
  kernels::Way taken = kernels::Way::Library;
  for (kernels::Way ours : {kernels::Way::Tiles, kernels::Way::Winograd})
    if (made.implementation().rfind(nameOf(ours), 0) == 0)
      taken = ours;
  return strCat(nameOf(taken), " by rule");
}

/// `create` makes the primitive for the calling thread's team; `way`: null
/// where a call has but one.
template <typename Spec, typename Create>
ExecutableResult makePrimitive(const Spec &spec, const Create &create,
                               std::vector<void *> operands, void *workspace,
                               const CallWay *way = nullptr) {
  std::string error;
  std::unique_ptr<kernels::Primitive> primitive = create(&error);
  kernels::WorkHint hint;
  if (primitive)
    hint = hintOf(spec, *primitive);
  if (primitive && kernels::isBetterAlone(hint)) {
    hint.alone = true;
    kernels::HintedWork hinted(hint);
    primitive = create(&error);
  }
  if (!primitive)
    return Status(StatusCode::ResourceExhausted, error);
  std::string described = way ? describeWay(*way, *primitive) : "";
  return std::unique_ptr<Executable>(std::make_unique<PrimitiveExecutable>(
      std::move(primitive), std::move(operands), workspace, hint,
      std::move(described)));
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

ExecutableResult makeCall(const kernels::MatmulLaunch &launch,
                          kernels::MatmulPrecision precision,
                          const CallWay &way) {
  if (!launch.spec.epilogue.isEmpty())
    return makeError(StatusCode::Unsupported,
                     "a product with an epilogue is "
                     "for GPUs; compile the model with --target cpu");
  if (launch.aScale)
    return makeError(StatusCode::Unsupported,
                     "a product of 8-bit floats is for GPUs; compile the model "
                     "with --target cpu");
  kernels::MatmulSpec spec = launch.spec;
  spec.precision = precision;
  return makePrimitive(
      spec,
      [&](std::string *error) {
        return kernels::createMatmul(spec, launch.workspaceBytes, error,
                                     way.way);
      },
      {launch.a, launch.b, launch.c}, launch.workspace, &way);
}

ExecutableResult makeCall(const kernels::ConvolutionLaunch &launch,
                          kernels::MatmulPrecision, const CallWay &way) {
  return makePrimitive(
      launch.spec,
      [&](std::string *error) {
        return kernels::createConvolution(launch.spec, launch.workspaceBytes,
                                          error, way.way);
      },
      {launch.source, launch.filter, launch.destination}, launch.workspace,
      &way);
}

ExecutableResult makeCall(const kernels::AttentionLaunch &launch,
                          kernels::MatmulPrecision, const CallWay &) {
  if (launch.spec.type == kernels::ElementType::F16)
    return makeError(StatusCode::Unsupported,
                     "attention in float16 is for "
                     "GPUs; compile the model with --target cpu");
  return makePrimitive(
      launch.spec,
      [&](std::string *error) {
        return kernels::createAttention(launch.spec, launch.workspaceBytes,
                                        error);
      },
      launch.buffers, launch.workspace);
}

ExecutableResult makeCall(const kernels::SparseLaunch &launch,
                          kernels::MatmulPrecision, const CallWay &) {
  return makePrimitive(
      launch.spec,
      [&](std::string *error) {
        return kernels::createSparse(launch.spec, error);
      },
      {launch.dense, launch.bits, launch.offsets, launch.values}, nullptr);
}

ExecutableResult makeCall(const kernels::GroupedMatmulLaunch &launch,
                          kernels::MatmulPrecision, const CallWay &) {
  return makePrimitive(
      launch.spec,
      [&](std::string *error) {
        return kernels::createGroupedMatmul(launch.spec, launch.workspaceBytes,
                                            error);
      },
      {launch.a, launch.b, launch.c, launch.groups, launch.ids},
      launch.workspace);
}

ExecutableResult makeCopy(const CopyLaunch &launch, const OffloadFile *file) {
  return std::unique_ptr<Executable>(
      std::make_unique<CopyExecutable>(launch, file));
}

} // namespace zc::cpu
