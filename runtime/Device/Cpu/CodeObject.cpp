#include "runtime/Device/Cpu/CodeObject.h"
#include "runtime/Base/File.h"

#include <cstring>
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

namespace zc::cpu {

/// The loader trusts what it loads; refuse what cannot be meant for it.
static Status checkHeader(const CodeImage &image) {
  Elf64_Ehdr header;
  bool sound = image.bytes.size() >= sizeof(header);
  if (sound) {
    std::memcpy(&header, image.bytes.data(), sizeof(header));
    sound = std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
            header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_type == ET_DYN &&
            header.e_machine == EM_X86_64;
  }
  if (!sound)
    return makeError(StatusCode::Corrupt, "code object '", image.name,
                     "' is not a shared library for x86-64");
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

Result<kernels::RangeFunction>
CodeObject::find(const std::string &symbol) const {
  void *address = ::dlsym(library, symbol.c_str());
  if (!address)
    return makeError(StatusCode::Corrupt, "code object '", name,
                     "' has no kernel '", symbol, "'");
  return reinterpret_cast<kernels::RangeFunction>(address);
}

} // namespace zc::cpu
