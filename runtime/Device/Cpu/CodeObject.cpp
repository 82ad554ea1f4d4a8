#include "runtime/Device/Cpu/CodeObject.h"
#include "runtime/Base/File.h"
#include "runtime/Device/Cpu/Extensions.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace zc::cpu {

#if defined(__aarch64__)
constexpr auto kMachine = EM_AARCH64;
#else
constexpr auto kMachine = EM_X86_64;
#endif

/// The loader trusts what it loads; refuse what cannot be meant for it.
static Status checkHeader(const CodeImage &image) {
  Elf64_Ehdr header;
  bool sound = image.bytes.size() >= sizeof(header);
  if (sound) {
    std::memcpy(&header, image.bytes.data(), sizeof(header));
    sound = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
            header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_DYN &&
            header.e_machine == kMachine;
  }
  if (!sound)
    return makeError(StatusCode::Corrupt, "code object '", image.name,
                     "' is not a shared library for ", architecture());
  return Status();
}

namespace {

/// The limit on file sizes holds for memory files too, but a limit that is
/// meant for a disk should not keep code from loading: while this lives, the
/// soft limit is as high as allowed.
class RaisedFileSizeLimit {
public:
  RaisedFileSizeLimit() {
    saved = ::getrlimit(RLIMIT_FSIZE, &before) == 0;
    struct rlimit raised = before;
    raised.rlim_cur = raised.rlim_max;
    if (saved)
      ::setrlimit(RLIMIT_FSIZE, &raised);
  }
  ~RaisedFileSizeLimit() {
    if (saved)
      ::setrlimit(RLIMIT_FSIZE, &before);
  }

private:
  struct rlimit before = {};
  bool saved;
};

} // namespace

Result<std::unique_ptr<CodeObject>> CodeObject::load(const CodeImage &image) {
  ZC_RETURN_IF_ERROR(checkHeader(image));
  int descriptor = ::memfd_create("zc-code", MFD_CLOEXEC);
  if (descriptor < 0)
    return errnoError("cannot create memory for code");
  std::unique_ptr<CodeObject> object(
      new CodeObject(image.name, descriptor, nullptr));
  {
    RaisedFileSizeLimit raised;
    ZC_RETURN_IF_ERROR(writeAll(descriptor, image.bytes.data(),
                                image.bytes.size(), "code in memory"));
  }
  std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  object->library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!object->library)
    return makeError(StatusCode::Corrupt, "code object '", image.name,
                     "' cannot be loaded: ", ::dlerror());
  return object;
}

CodeObject::~CodeObject() {
  if (library)
    ::dlclose(library);
  ::close(descriptor);
}

/// `signature`: the grid, the number of buffers, the bytes of each; see
/// passes/Codegen/AddEntryPoints.cpp.
static Status checkLaunch(const KernelLaunch &launch,
                          const int64_t *signature) {
  auto bad = [&](const auto &...what) {
    return makeError(StatusCode::Corrupt, "kernel '", launch.symbol,
                     "' is called wrongly: ", what...);
  };
  if (launch.grid != signature[0])
    return bad("over a grid of ", launch.grid, "; its grid is ", signature[0]);
  if (static_cast<int64_t>(launch.buffers.size()) != signature[1])
    return bad("with ", launch.buffers.size(), " buffers; it has ",
               signature[1]);
  for (size_t i = 0; i < launch.buffers.size(); ++i)
    if (launch.bufferBytes[i] != static_cast<uint64_t>(signature[2 + i]))
      return bad("its buffer ", i, " has ", signature[2 + i], " bytes, not ",
                 launch.bufferBytes[i]);
  return Status();
}

Result<kernels::RangeFunction>
CodeObject::find(const KernelLaunch &launch) const {
  void *address = ::dlsym(library, launch.symbol.c_str());
  if (!address)
    return makeError(StatusCode::Corrupt, "code object '", name,
                     "' has no kernel '", launch.symbol, "'");
  void *signature = ::dlsym(library, (launch.symbol + ".signature").c_str());
  if (!signature)
    return makeError(StatusCode::Corrupt, "code object '", name,
                     "' does not say how kernel '", launch.symbol,
                     "' is called; compile the model again");
  ZC_RETURN_IF_ERROR(
      checkLaunch(launch, static_cast<const int64_t *>(signature)));
  return reinterpret_cast<kernels::RangeFunction>(address);
}

} // namespace zc::cpu
