//===- EmitPtx.cpp - GPU kernels to PTX and cubins ------------------------===//
#include "passes/Codegen/Cuda/EmitPtx.h"

#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "passes/Codegen/EmitCode.h"
#include "passes/Codegen/TemporaryFile.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Linker/Linker.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Transforms/IPO/Internalize.h"

#include <cstdlib>

using namespace mlir;

extern "C" {
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace zc {

/// PTX of CUDA 11: what every driver of the GPUs at hand knows.
static constexpr const char *kPtxVersion = "+ptx70";

//===----------------------------------------------------------------------===//
// The toolkit
//===----------------------------------------------------------------------===//

static SmallVector<std::string> toolkitFolders() {
  SmallVector<std::string> folders;
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char *folder = std::getenv(variable))
      folders.push_back(folder);
  folders.push_back("/usr/local/cuda");
  return folders;
}

std::string findPtxas() {
  // A way to have none on a machine that has one.
  if (const char *path = std::getenv("ZC_PTXAS"))
    return path;
  for (const std::string &folder : toolkitFolders()) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "bin", "ptxas");
    if (llvm::sys::fs::can_execute(path))
      return path.str().str();
  }
  auto found = llvm::sys::findProgramByName("ptxas");
  return found ? *found : std::string();
}

static std::string findLibdevice() {
  for (const std::string &folder : toolkitFolders()) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, "nvvm", "libdevice", "libdevice.10.bc");
    if (llvm::sys::fs::exists(path))
      return path.str().str();
  }
  return "";
}

//===----------------------------------------------------------------------===//
// PTX
//===----------------------------------------------------------------------===//

static std::unique_ptr<llvm::TargetMachine>
makeTargetMachine(std::string &error) {
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
  llvm::Triple triple("nvptx64-nvidia-cuda");
  const llvm::Target *backend =
      llvm::TargetRegistry::lookupTarget(triple, error);
  if (!backend)
    return nullptr;
  return std::unique_ptr<llvm::TargetMachine>(backend->createTargetMachine(
      triple, kPtxArch, kPtxVersion, llvm::TargetOptions(), std::nullopt,
      std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

/// Functions that only libdevice defines.
static SmallVector<StringRef> missingFunctions(llvm::Module &module) {
  SmallVector<StringRef> names;
  for (llvm::Function &function : module)
    if (function.isDeclaration() && !function.isIntrinsic())
      names.push_back(function.getName());
  return names;
}

static LogicalResult linkLibdevice(gpu::GPUModuleOp kernels,
                                   llvm::Module &module) {
  SmallVector<StringRef> missing = missingFunctions(module);
  if (missing.empty())
    return success();
  std::string path = findLibdevice();
  if (path.empty())
    return kernels.emitError()
           << "a kernel calls '" << missing.front()
           << "' of CUDA's libdevice, which is not there; install the CUDA "
              "toolkit or set CUDA_HOME to its folder";
  llvm::SMDiagnostic diagnostic;
  auto library = llvm::parseIRFile(path, diagnostic, module.getContext());
  if (!library)
    return kernels.emitError()
           << "cannot read '" << path << "': " << diagnostic.getMessage();
  library->setDataLayout(module.getDataLayout());
  library->setTargetTriple(module.getTargetTriple());
  bool failed = llvm::Linker::linkModules(
      module, std::move(library), llvm::Linker::Flags::LinkOnlyNeeded,
      [](llvm::Module &linked, const llvm::StringSet<> &names) {
        llvm::internalizeModule(linked, [&](const llvm::GlobalValue &value) {
          return !value.hasName() || !names.contains(value.getName());
        });
      });
  if (failed)
    return kernels.emitError() << "cannot link '" << path << "'";
  return success();
}

FailureOr<std::string> emitPtx(gpu::GPUModuleOp kernels,
                               std::string *llvmText) {
  MLIRContext &mlirContext = *kernels->getContext();
  registerBuiltinDialectTranslation(mlirContext);
  registerLLVMDialectTranslation(mlirContext);
  registerGPUDialectTranslation(mlirContext);
  registerNVVMDialectTranslation(mlirContext);
  std::string error;
  auto machine = makeTargetMachine(error);
  if (!machine)
    return kernels.emitError("cannot compile for GPUs: ") << error;
  llvm::LLVMContext context;
  auto module = translateModuleToLLVMIR(kernels, context, "kernels");
  if (!module)
    return kernels.emitError("cannot translate the kernels to LLVM IR");
  module->setDataLayout(machine->createDataLayout());
  module->setTargetTriple(machine->getTargetTriple());
  if (failed(linkLibdevice(kernels, *module)))
    return failure();
  // Comparisons of a few numbers that a whole team has in common.
  for (llvm::Function &function : *module)
    function.addFnAttr("no-jump-tables", "true");
  optimizeModule(*module, *machine);
  if (llvmText) {
    llvm::raw_string_ostream stream(*llvmText);
    module->print(stream, nullptr);
  }
  llvm::SmallString<0> ptx;
  if (!emitCode(*module, *machine, llvm::CodeGenFileType::AssemblyFile, ptx))
    return kernels.emitError("the back end cannot write PTX");
  return ptx.str().str();
}

//===----------------------------------------------------------------------===//
// Cubins
//===----------------------------------------------------------------------===//

FailureOr<std::string> assemblePtx(gpu::GPUModuleOp kernels, StringRef ptxas,
                                   StringRef ptx, StringRef arch) {
  TemporaryFile input("ptx"), output("cubin"), messages("log");
  std::string error, cubin;
  if (!input.write(ArrayRef<char>(ptx.data(), ptx.size()), error))
    return kernels.emitError() << error;
  std::string target = ("-arch=" + arch).str();
  StringRef arguments[] = {ptxas, target,        "-O3",
                           "-o",  output.path(), input.path()};
  std::optional<StringRef> redirects[] = {std::nullopt, messages.path(),
                                          messages.path()};
  if (llvm::sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects, 0, 0,
                                &error) != 0) {
    std::string log, unread;
    messages.read(log, unread);
    return kernels.emitError()
           << "'" << ptxas << "' cannot assemble for " << arch << ": " << error
           << StringRef(log).trim();
  }
  if (!output.read(cubin, error))
    return kernels.emitError() << error;
  return cubin;
}

} // namespace zc
