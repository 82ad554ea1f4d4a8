#include "runtime/Device/Cpu/Executables.h"
#include "kernels/Cpu/Underflow.h"
#include "kernels/Cpu/WorkHint.h"
#include "runtime/Device/Cpu/Pages.h"

#include <cstring>
#include <type_traits>
#include <utility>

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
                      const kernels::WorkHint &hint, TakenWay theWay)
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

  TakenWay way() const override { return theWay; }

private:
  std::unique_ptr<kernels::Primitive> primitive;
  std::vector<void *> operands;
  void *workspace;
  kernels::WorkHint hint;
  TakenWay theWay;
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

/// The way that the rule has taken.
kernels::Way wayByRule(const kernels::Primitive &made) {
  for (kernels::Way ours : {kernels::Way::Tiles, kernels::Way::Winograd})
    if (made.implementation().rfind(nameOf(ours), 0) == 0)
      return ours;
  return kernels::Way::Library;
}

/// "tiles by rule", "library-product, measured".
TakenWay describeWay(const CallWay &way, const kernels::Primitive &made) {
  const kernels::Way taken = way.isMeasured ? way.way : wayByRule(made);
  return {strCat(nameOf(taken), way.isMeasured ? ", measured" : " by rule"),
          kernels::needsFewerProducts(taken)};
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
  TakenWay taken = way ? describeWay(*way, *primitive) : TakenWay();
  return std::unique_ptr<Executable>(std::make_unique<PrimitiveExecutable>(
      std::move(primitive), std::move(operands), workspace, hint,
      std::move(taken)));
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

namespace {

/// Why CPUs have no kernel for a launch of a kind that they compute; empty:
/// they have one.
template <typename Launch> std::string refuse(const Launch &) { return ""; }

std::string refuse(const kernels::MatmulLaunch &launch) {
  if (!launch.spec.epilogue.isEmpty())
    return "a product with an epilogue is for GPUs; compile the model with "
           "--target cpu";
  return launch.aScale ? "a product of 8-bit floats is for GPUs; compile the "
                         "model with --target cpu"
                       : "";
}

std::string refuse(const kernels::AttentionLaunch &launch) {
  return launch.spec.type == kernels::ElementType::F16
             ? "attention in float16 is for GPUs; compile the model with "
               "--target cpu"
             : "";
}

/// The spec for products of that precision.
template <typename Spec>
Spec refine(const Spec &spec, kernels::MatmulPrecision) {
  return spec;
}

kernels::MatmulSpec refine(kernels::MatmulSpec spec,
                           kernels::MatmulPrecision precision) {
  spec.precision = precision;
  return spec;
}

/// Whether a rule or a measurement chooses among ways of such calls.
template <typename Spec, typename = void> struct HasWays : std::false_type {};
template <typename Spec>
struct HasWays<
    Spec, std::void_t<decltype(kernels::waysOf(std::declval<const Spec &>()))>>
    : std::true_type {};

/// The workspace of a launch; kinds whose kernels need none have no place for
/// it.
template <typename Launch>
auto workspaceOf(const Launch &launch, int)
    -> std::pair<decltype(launch.workspace), uint64_t> {
  return {launch.workspace, launch.workspaceBytes};
}
template <typename Launch>
std::pair<void *, uint64_t> workspaceOf(const Launch &, long) {
  return {nullptr, 0};
}

template <typename Launch>
ExecutableResult makeKnown(const Launch &launch,
                           kernels::MatmulPrecision precision,
                           const CallWay &way) {
  if constexpr (!kernels::HasLaunch<Launch, kernels::CpuCalls>::value) {
    return Status(StatusCode::Unsupported, "no library computes it on CPUs; "
                                           "compile the model again");
  } else {
    if (std::string why = refuse(launch); !why.empty())
      return Status(StatusCode::Unsupported, why);
    const auto spec = refine(launch.spec, precision);
    const auto [workspace, bytes] = workspaceOf(launch, 0);
    return makePrimitive(
        spec,
        [&spec, &way, bytes = bytes](std::string *error) {
          return kernels::createPrimitive(spec, bytes, error, way.way);
        },
        operandsOf(launch), workspace,
        HasWays<std::decay_t<decltype(spec)>>::value ? &way : nullptr);
  }
}

/// oneDNN does not look whether it was given room for the code that it makes,
/// 256 KiB at a time.
constexpr uint64_t kRoomForCode = 8 << 20;

} // namespace

ExecutableResult makeCall(const kernels::CallLaunch &launch,
                          kernels::MatmulPrecision precision,
                          const CallWay &way) {
  if (!hasRoom(kRoomForCode))
    return Status(StatusCode::ResourceExhausted,
                  "out of memory; end other programs, or raise the limit "
                  "(ulimit -v)");
  return std::visit(
      [&](const auto &each) { return makeKnown(each, precision, way); },
      launch);
}

ExecutableResult makeCopy(const CopyLaunch &launch, const OffloadFile *file) {
  return std::unique_ptr<Executable>(
      std::make_unique<CopyExecutable>(launch, file));
}

} // namespace zc::cpu
