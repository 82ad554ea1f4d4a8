//===- CpuArch.cpp - processors that kernels are compiled for -------------===//
#include "passes/Codegen/CpuArch.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/TargetParser/AArch64TargetParser.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/X86TargetParser.h"

namespace zc {

// Extensions that kernels of loops over floats can come to use. Others, such as
// virtualisation or cryptography, would only keep an artifact from other
// machines. Vectors of a length that the code does not know (SVE) are left out.
static constexpr llvm::StringLiteral kUsefulX86[] = {
    "sse3",       "ssse3",      "sse4.1",    "sse4.2",   "popcnt",   "avx",
    "avx2",       "fma",        "f16c",      "bmi",      "bmi2",     "lzcnt",
    "movbe",      "avx512f",    "avx512bw",  "avx512cd", "avx512dq", "avx512vl",
    "avx512vnni", "avx512bf16", "avx512fp16"};
static constexpr llvm::StringLiteral kUsefulArm[] = {
    "fp-armv8", "neon",    "lse",  "rdm", "fullfp16",
    "fp16fml",  "dotprod", "bf16", "i8mm"};

static bool isArm(const llvm::Triple &triple) { return triple.isAArch64(); }

std::vector<std::string> CpuArch::getFeatures() const {
  std::vector<std::string> features = {isArm(triple) ? "aarch64" : "x86-64"};
  features.insert(features.end(), extensions.begin(), extensions.end());
  return features;
}

llvm::StringRef CpuArch::getPlainCpu() const {
  return isArm(triple) ? "generic" : "x86-64";
}

static void keepUseful(llvm::function_ref<bool(llvm::StringRef)> has,
                       CpuArch &target) {
  auto keep = [&](llvm::ArrayRef<llvm::StringLiteral> useful) {
    for (llvm::StringRef extension : useful)
      if (has(extension))
        target.extensions.push_back(extension.str());
  };
  isArm(target.triple) ? keep(kUsefulArm) : keep(kUsefulX86);
}

static void resolveNative(CpuArch &target) {
  target.name = llvm::sys::getHostCPUName().str();
  target.triple = llvm::Triple(llvm::sys::getProcessTriple());
  llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  keepUseful([&](llvm::StringRef each) { return host.lookup(each); }, target);
}

static bool resolveX86(llvm::StringRef name, CpuArch &target) {
  llvm::SmallVector<llvm::StringRef> known, extensions;
  llvm::X86::fillValidCPUArchList(known, /*Only64Bit=*/true);
  if (!llvm::is_contained(known, name))
    return false;
  target.triple = llvm::Triple("x86_64-unknown-linux-gnu");
  llvm::X86::getFeaturesForCPU(name, extensions);
  keepUseful(
      [&](llvm::StringRef each) {
        return llvm::is_contained(extensions, each);
      },
      target);
  return true;
}

/// An architecture's version ("armv8.2-a") or a processor ("neoverse-v1").
static bool resolveArm(llvm::StringRef name, CpuArch &target) {
  llvm::AArch64::ExtensionBitset has;
  const llvm::AArch64::ArchInfo *version =
      name.starts_with("armv") ? llvm::AArch64::parseArch(name) : nullptr;
  if (version)
    has = version->DefaultExts;
  else if (auto cpu = llvm::AArch64::parseCpu(name))
    has = cpu->getImpliedExtensions();
  else
    return false;
  target.triple = llvm::Triple("aarch64-unknown-linux-gnu");
  std::vector<llvm::StringRef> extensions; // "+neon"
  llvm::AArch64::getExtensionFeatures(has, extensions);
  keepUseful(
      [&](llvm::StringRef each) {
        return llvm::is_contained(extensions, "+" + each.str());
      },
      target);
  return true;
}

bool resolveCpuArch(llvm::StringRef name, CpuArch &target, std::string &error) {
  target = {};
  target.name = name.str();
  if (name == "native") {
    resolveNative(target);
    return true;
  }
  // Both know a "generic", which says nothing.
  if (name != "generic" &&
      (resolveX86(name, target) || resolveArm(name, target)))
    return true;
  error = "unknown processor '" + name.str() +
          "'; expected native, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, "
          "armv8-a, armv8.2-a or a name that LLVM knows, such as znver4 or "
          "neoverse-v1";
  return false;
}

} // namespace zc
