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

#include <initializer_list>

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

/// Where CUDA's own packages install it.
static constexpr const char *kToolkit = "/usr/local/cuda";

/// A file of the toolkit in `folder`, or if that is empty in the usual one.
static std::string findInToolkit(StringRef folder,
                                 std::initializer_list<StringRef> parts) {
  llvm::SmallString<128> path(folder.empty() ? StringRef(kToolkit) : folder);
  for (StringRef part : parts)
    llvm::sys::path::append(path, part);
  return llvm::sys::fs::exists(path) ? path.str().str() : std::string();
}

std::string findPtxas(StringRef folder) {
  std::string path = findInToolkit(folder, {"bin", "ptxas"});
  if (!path.empty() || !folder.empty())
    return path;
  auto found = llvm::sys::findProgramByName("ptxas");
  return found ? *found : std::string();
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
                                   llvm::Module &module, StringRef folder) {
  SmallVector<StringRef> missing = missingFunctions(module);
  if (missing.empty())
    return success();
  std::string path =
      findInToolkit(folder, {"nvvm", "libdevice", "libdevice.10.bc"});
  if (path.empty())
    return kernels.emitError()
           << "a kernel calls '" << missing.front()
           << "' of CUDA's libdevice, which is not there; install the CUDA "
              "toolkit or give its folder with --cuda-path";
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

FailureOr<std::string> emitPtx(gpu::GPUModuleOp kernels, StringRef toolkit,
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
  if (failed(linkLibdevice(kernels, *module, toolkit)))
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
