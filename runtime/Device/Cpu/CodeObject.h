// Machine code of an artifact, loaded without touching the disk.
#ifndef ZC_RUNTIME_DEVICE_CPU_CODEOBJECT_H
#define ZC_RUNTIME_DEVICE_CPU_CODEOBJECT_H

#include "kernels/Cpu/Parallel.h"
#include "runtime/Device/Device.h"

namespace zc::cpu {

class CodeObject {
public:
  static Result<std::unique_ptr<CodeObject>> load(const CodeImage &image);
  ~CodeObject();
  CodeObject(const CodeObject &) = delete;
  CodeObject &operator=(const CodeObject &) = delete;

  /// The kernel that a launch names, once the launch is found to agree with
  /// what the kernel was compiled for: its grid, its buffers and their sizes.
  Result<kernels::RangeFunction> find(const KernelLaunch &launch) const;

private:
  CodeObject(std::string name, int descriptor, void *library)
      : name(std::move(name)), descriptor(descriptor), library(library) {}

  std::string name;
  // Stays open: the loader takes libraries of one path for one library, and
  // the path has the descriptor's number in it.
  int descriptor;
  void *library;
};

} // namespace zc::cpu

#endif // ZC_RUNTIME_DEVICE_CPU_CODEOBJECT_H
