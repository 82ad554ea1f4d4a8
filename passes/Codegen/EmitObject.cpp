//===- EmitObject.cpp - kernels to a shared object ------------------------===//
#include "passes/Codegen/EmitObject.h"

#include "mlir/IR/Threading.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/Codegen/EmitCode.h"
#include "passes/Codegen/TemporaryFile.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

using namespace mlir;

namespace zc {

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

// Extensions that kernels of loops over floats can come to use. Others, such as
// virtualisation or cryptography, would only keep an artifact from other
// machines.
static constexpr llvm::StringLiteral kUsefulFeatures[] = {
    "sse3",       "ssse3",      "sse4.1",    "sse4.2",   "popcnt",   "avx",
    "avx2",       "fma",        "f16c",      "bmi",      "bmi2",     "lzcnt",
    "movbe",      "avx512f",    "avx512bw",  "avx512cd", "avx512dq", "avx512vl",
    "avx512vnni", "avx512bf16", "avx512fp16"};

static void keepUseful(llvm::function_ref<bool(llvm::StringRef)> has,
                       CpuArch &target) {
  for (llvm::StringRef feature : kUsefulFeatures)
    if (has(feature))
      target.features.push_back(feature.str());
}

bool resolveCpuArch(llvm::StringRef name, CpuArch &target, std::string &error) {
  target = {};
  target.name = name.str();
  if (name == "native") {
    target.cpu = llvm::sys::getHostCPUName().str();
    target.name = target.cpu;
    llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
    keepUseful([&](llvm::StringRef feature) { return host.lookup(feature); },
               target);
    return true;
  }
  SmallVector<llvm::StringRef> known;
  llvm::X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
  if (!llvm::is_contained(known, name)) {
    error = "unknown processor '" + name.str() +
            "'; expected native, x86-64, x86-64-v2, x86-64-v3, "
            "x86-64-v4 or a name that LLVM knows, such as znver4";
    return false;
  }
  target.cpu = name.str();
  SmallVector<llvm::StringRef> features;
  llvm::X86::getFeaturesForCPU(name, features);
  keepUseful(
      [&](llvm::StringRef feature) {
        return llvm::is_contained(features, feature);
      },
      target);
  return true;
}

static std::unique_ptr<llvm::TargetMachine>
makeTargetMachine(const CpuArch &target, std::string &error) {
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  // The generic processor tuned as the named one, with exactly the listed
  // extensions: the code then uses none that the artifact does not ask for.
  std::string features;
  for (const std::string &feature : target.features)
    features += (features.empty() ? "+" : ",+") + feature;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, "x86-64", features, llvm::TargetOptions(), llvm::Reloc::PIC_,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

//===----------------------------------------------------------------------===//
// Compiling
//===----------------------------------------------------------------------===//

// A short innermost loop must meet the vectoriser as a loop: unrolled before, a
// row of 16 channels becomes 16 columns that are gathered (measured: batch
// normalisation of 64 channels 5 to 8 times slower).
static llvm::PipelineTuningOptions getTuning() {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopUnrolling = false;
  return tuning;
}

// O3 makes the same of loops over floats (measured: of 880 kernels of eight
// models 8 differ, none in a vector instruction) and takes a third more time.
static const llvm::OptimizationLevel kLevel = llvm::OptimizationLevel::O2;

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

/// A package may bring the linker, beside zc.
static std::string findLinker() {
  const std::string self = llvm::sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&findLinker));
  const llvm::StringRef own = llvm::sys::path::parent_path(self);
  for (llvm::StringRef name : {"ld.lld-22", "ld.lld", "ld"}) {
    auto found = llvm::sys::findProgramByName(name, {own, ZC_LLVM_TOOLS_DIR});
    if (!found)
      found = llvm::sys::findProgramByName(name);
    if (found)
      return *found;
  }
  return "";
}

static bool linkObjects(MutableArrayRef<SmallVector<char>> objects,
                        std::string &shared, std::string &error) {
  TemporaryFile output("so");
  std::string linker = findLinker();
  if (linker.empty()) {
    error = "found no linker; install lld (tools/setup does)";
    return false;
  }
  if (!output.read(shared, error))
    return false; // there is no place for it
  SmallVector<llvm::StringRef> arguments = {
      linker, "-shared", "-z", "noexecstack", "-o", output.path()};
  std::vector<std::unique_ptr<TemporaryFile>> inputs;
  for (SmallVector<char> &object : objects) {
    inputs.push_back(std::make_unique<TemporaryFile>("o"));
    if (!inputs.back()->write(object, error))
      return false;
    arguments.push_back(inputs.back()->path());
  }
  if (llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt, {}, 0, 0,
                                &error) != 0) {
    error = "the linker " + linker + " failed " + error;
    return false;
  }
  return output.read(shared, error);
}

static LogicalResult emitModule(ModuleOp kernels, const CpuArch &target,
                                SmallVector<char> &object, std::string *text) {
  std::string error;
  auto machine = makeTargetMachine(target, error);
  if (!machine)
    return kernels.emitError("cannot compile for ")
           << target.name << ": " << error;
  // The translation changes what it reads, and there may be several targets.
  OwningOpRef<ModuleOp> copy(kernels.clone());
  llvm::LLVMContext context;
  auto module = translateModuleToLLVMIR(*copy, context, "kernels");
  if (!module)
    return kernels.emitError("cannot translate the kernels to LLVM IR");
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  optimizeModule(*module, *machine, getTuning(), kLevel);
  if (text) {
    llvm::raw_string_ostream stream(*text);
    module->print(stream, nullptr);
  }
  if (!emitCode(*module, *machine, llvm::CodeGenFileType::ObjectFile, object))
    return kernels.emitError("the back end cannot write object files");
  return success();
}

FailureOr<std::string> emitSharedObject(ArrayRef<ModuleOp> kernels,
                                        const CpuArch &target,
                                        std::string *llvmText) {
  ModuleOp first = kernels.front();
  MLIRContext *context = first.getContext();
  registerBuiltinDialectTranslation(*context);
  registerLLVMDialectTranslation(*context);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  std::vector<SmallVector<char>> objects(kernels.size());
  std::vector<std::string> texts(llvmText ? kernels.size() : 0);
  auto emit = [&](size_t i) {
    return emitModule(kernels[i], target, objects[i],
                      llvmText ? &texts[i] : nullptr);
  };
  if (failed(failableParallelForEachN(context, 0, kernels.size(), emit)))
    return failure();
  for (const std::string &text : texts)
    *llvmText += text;
  std::string shared, error;
  if (!linkObjects(objects, shared, error))
    return first.emitError("cannot link the kernels: ") << error;
  return shared;
}

} // namespace zc
