#include "compiler/Driver/TargetOptions.h"

#include "compiler/Driver/MeshOptions.h"
#include "compiler/Driver/Phases.h"
#include "compiler/Driver/TargetServices.h"
#include "passes/Codegen/EmitObject.h"
#include "passes/Target/Cpu/CpuTarget.h"
#include "passes/Target/Devices.h"

using namespace zc;

static std::string checkCpuArch(const std::string &name) {
  CpuArch arch;
  std::string error;
  return resolveCpuArch(name, arch, error) ? "" : error;
}

static std::string checkTarget(const std::string &text) {
  auto [name, arch] = llvm::StringRef(text).split(':');
  const DeviceKind *device = findDeviceKind(name);
  if (device && (name == text || (device->isArch && device->isArch(arch))))
    return "";
  return "expected cpu, cuda or cuda:sm_NN with an NN from 80 on, found '" +
         text + "'";
}

static void addCpuOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--cpu-arch", options.cpuArchs,
                  "instruction sets, separated by commas, of which a run takes "
                  "the best that its machine has: native, x86-64-v3, "
                  "x86-64-v4, armv8.2-a, or a processor's name (znver4, "
                  "neoverse-v1, cortex-a76, apple-m1)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(checkCpuArch)
      ->type_name("LIST");
  command
      .add_option("--cpu-threads", options.cpuThreads,
                  "the most threads a rank may use; by default this "
                  "machine's cores / the mesh's ranks")
      ->check(CLI::Range(1, 4096))
      ->default_str("");
}

static void addCudaOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option("--cuda-path", options.cudaPath,
                  "with --target cuda, the CUDA toolkit's folder, which has "
                  "ptxas and libdevice")
      ->type_name("DIR");
  command
      .add_option("--cubins", options.cubins,
                  "with --target cuda, machine code besides PTX: auto, where "
                  "the toolkit's ptxas is, or none")
      ->check(CLI::IsMember({"auto", "none"}));
  command
      .add_option(
          "--matmul-precision", options.matmulPrecision,
          "precision of float32 matmuls: highest; tf32, with --target cuda, "
          "for convolutions, too: factors are rounded to 10 bits for tensor "
          "cores; bf16x3 or bf16x6, with --target cpu, where there is AMX: "
          "factors are sums of 2 or 3 bfloat16 numbers, off by at most 2^-15 "
          "or 2^-22 of the sum of magnitudes")
      ->check(CLI::IsMember({"highest", "tf32", "bf16x3", "bf16x6"}));
}

void zc::addTargetOptions(CLI::App &command, CompileOptions &options) {
  command
      .add_option_function<std::string>(
          "--target",
          [&options](const std::string &text) {
            auto [device, arch] = llvm::StringRef(text).split(':');
            options.target = device.str();
            options.cudaArch = arch.str();
          },
          "the device: cpu, cuda for NVIDIA GPUs from sm_80 on, or "
          "cuda:sm_90 for one kind besides")
      ->check(checkTarget)
      ->type_name("cpu|cuda[:sm_NN]")
      ->default_str(options.target);
  command
      .add_option("--libraries", options.libraries,
                  "library calls that may be used, separated by commas: all, "
                  "none, names, and -NAME for one that generated code is to "
                  "replace, as in --libraries=-onednn.convolution")
      ->type_name("LIST");
  addCpuOptions(command, options);
  addCudaOptions(command, options);
}

std::string zc::checkTargetTogether(const CompileOptions &options) {
  auto parsed =
      Libraries::parse(options.libraries, options.target,
                       listLibraries(options.target, makeTargetServices()));
  if (!parsed)
    return "--libraries: " + llvm::toString(parsed.takeError());
  return "";
}

/// Whether a processor has a feature. For a named processor LLVM lists those
/// that others do not imply: not avx512f.
static bool hasFeature(const std::string &name, llvm::StringRef feature) {
  CpuArch arch;
  std::string error; // reported where code is made for it
  return resolveCpuArch(name, arch, error) &&
         llvm::is_contained(arch.extensions, feature.str());
}

/// The vectors that all processors have and bfloat16 is multiplied with.
static void setVectors(const CompileOptions &options,
                       AnnotateTargetPassOptions &target) {
  llvm::StringRef common = CpuTarget::kWideVectors;
  for (const std::string &name : options.cpuArchs) {
    if (hasFeature(name, CpuTarget::kWideVectors))
      continue;
    if (!hasFeature(name, CpuTarget::kVectors))
      return;
    common = CpuTarget::kVectors;
  }
  target.features.push_back(common.str());
}

/// Asks for the machine whose rates and links decide: the described one, or
/// the one that such devices usually are in.
static void setMachine(const CompileOptions &options,
                       AnnotateTargetPassOptions &target) {
  target.cluster = options.cluster.empty()
                       ? getDeviceKind(options.target).usualMachine.str()
                       : options.cluster;
  target.allowsTf32 = options.matmulPrecision == "tf32";
  for (const MeshAxis &axis : getProgramAxes(options))
    target.axes.push_back(axis.name + "=" + std::to_string(axis.size));
}

AnnotateTargetPassOptions zc::getTargetOptions(const CompileOptions &options) {
  AnnotateTargetPassOptions target;
  target.device = options.target;
  target.threads = getPlannedThreads(options);
  target.libraries = options.libraries;
  setMachine(options, target);
  if (getDeviceKind(options.target).isHost)
    setVectors(options, target);
  return target;
}
